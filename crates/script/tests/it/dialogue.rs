//! The dialogue as a whole: its size limit, earlier conversations, and observers of calls.

use serde_json::json;

use crate::cases::case::Case;
use crate::cases::run_cases;

fn hold(cases: impl Iterator<Item = serde_json::Value>) {
    let cases = cases.map(|json| serde_json::from_value::<Case>(json).unwrap());
    let report = run_cases(cases).unwrap();
    report.print(false);
    assert_eq!(report.failed(), 0);
}

/// The limit on messages applies to every way of adding them.
#[test]
fn no_way_of_making_messages_passes_their_limit() {
    let ways = [
        "- $for: 6\n  do:\n    - user: x",
        "- $set: {prompt.messages: \"?=Array(6).fill({role: 'user', content: 'x'})\"}",
        "- !fn |-\n    many () { this.prompt = {messages: Array(6).fill('x')} }\n- $many()",
        "- $set: {prompt: {messages: [a, b, c, d, e, f]}}",
        "- $for: 6\n  do:\n    - $pushMessage: x",
        "- $for: 6\n  do:\n    - user: \"#+[0]x\"",
        "- $on: {event: load-chats, callback: '?=[1, 2, 3, 4, 5, 6]'}\n- '---'",
    ];
    let cases = ways.iter().map(|way| {
        json!({
            "id": way,
            "files": {"main.ai.yaml": format!("{way}\n")},
            "run": "main.ai.yaml",
            "limits": {"messages": 5},
            "expect": {
                "error_code": "script.limit",
                "error_contains": ["the dialogue exceeds 5 messages", "limits.messages"],
                "request_count": 0,
            },
        })
    });
    hold(cases);
}

#[test]
fn a_greeting_that_was_said_is_not_said_again() {
    let turn = |role: &str, content: &str| json!({"role": role, "content": content});
    let said = [
        turn("assistant", "Hello, I am Bot."),
        turn("user", "one"),
        turn("assistant", "two"),
    ];
    let table = [
        // The same greeting is not added again.
        (
            "system: s\n---\nassistant: Hello, I am {{name}}.\n",
            &said[..],
            &said[..],
        ),
        // A different greeting is added.
        (
            "system: s\n---\nassistant: Welcome back.\n",
            &said[..],
            &[
                said[0].clone(),
                said[1].clone(),
                said[2].clone(),
                turn("assistant", "Welcome back."),
            ],
        ),
        // In the first conversation, no greeting is a repetition.
        (
            "system: s\n---\nassistant: Hello, I am {{name}}.\n",
            &[],
            &said[..1],
        ),
        // User messages are always added, even repeated ones.
        (
            "system: s\n---\nuser: one\n",
            &said[1..],
            &[said[1].clone(), said[2].clone(), turn("user", "one")],
        ),
        // Only messages at the start of the conversation are greetings.
        (
            "system: s\n---\nassistant: two\n",
            &said[..],
            &[
                said[0].clone(),
                said[1].clone(),
                said[2].clone(),
                turn("assistant", "two"),
            ],
        ),
    ];
    let cases = table.into_iter().map(|(body, history, messages)| {
        let script = format!("---\nname: Bot\nautoRunLLMIfPromptAvailable: false\n---\n{body}");
        let mut all = vec![turn("system", "s")];
        all.extend(messages.iter().cloned());
        json!({
            "id": body,
            "files": {"main.ai.yaml": script},
            "run": "main.ai.yaml",
            "history": history,
            "expect": {"messages": all, "request_count": 0},
        })
    });
    hold(cases);
}

/// `$llm` is an alias of `$AI`: it fills a pending hole, with the parameters of the directive.
#[test]
fn an_alias_fills_the_hole_that_waits() {
    let cases = ["AI", "llm"].map(|name| {
        let call = format!("${name}: {{temperature: 0.5}}");
        json!({
            "id": name,
            "files": {"main.ai.yaml": format!("user: x\nassistant: '[[X]]'\n{call}\n")},
            "run": "main.ai.yaml",
            "expect": {
                "request_count": 1,
                "request_options": {"0": {"temperature": 0.5}},
            },
        })
    });
    hold(cases.into_iter());
}

/// Listener expressions can use the argument names of the language reference.
#[test]
fn expressions_that_listen_name_their_arguments() {
    let table = [
        (
            "$on: {event: beforeCall, callback: \"?=name == 'echo' ? 'not ' + params : undefined\"}\n$echo: x",
            json!({"result": "not x"}),
        ),
        (
            "$on: {event: afterCall, callback: \"?=name == 'echo' ? result + params : undefined\"}\n$echo: x",
            json!({"result": "xx"}),
        ),
        (
            "$on: {event: llmParams, callback: '?=({...params, temperature: 0.5})'}\nuser: x\n$AI",
            json!({"request_options": {"0": {"temperature": 0.5}}}),
        ),
        (
            "$on: {event: ready, callback: '?=this.seen = isReady'}\n$ready()\n$ret: '?=seen'",
            json!({"result": true}),
        ),
        // An error is reported at the location of the listener.
        (
            "$on:\n  event: beforeCall\n  callback: '?=nmae'\n$echo: x",
            json!({"error_contains": ["main.ai.yaml:3:13", "`nmae` (did you mean `name`?)"]}),
        ),
    ];
    let cases = table.into_iter().map(|(script, expect)| {
        json!({
            "id": script,
            "files": {"main.ai.yaml": format!("{script}\n")},
            "run": "main.ai.yaml",
            "expect": expect,
        })
    });
    hold(cases);
}

#[test]
fn nothing_is_fetched_without_a_grant_or_in_a_dry_run() {
    let ways = [
        "$ret: '?=this.$fetch(\"http://127.0.0.1:1/\")'",
        "$fetch: {url: 'http://127.0.0.1:1/'}",
        "-> url(url='http://127.0.0.1:1/')",
        "$echo: \"[[@url('http://127.0.0.1:1/')]]\"",
        "!fn |-\n  async f () { return await fetch('http://127.0.0.1:1/').then((a) => a.text()) }\n$f()",
    ];
    let refused = ways.iter().map(|way| {
        json!({
            "id": way,
            "files": {"main.ai.yaml": format!("{way}\n")},
            "run": "main.ai.yaml",
            "expect": {"error_contains": ["permission denied: this script may not", "--allow-net"]},
        })
    });
    hold(refused);
    let dry = ways.iter().skip(1).map(|way| {
        json!({
            "id": format!("dry: {way}"),
            "files": {"main.ai.yaml": format!("{way}\n$ret: went on\n")},
            "run": "main.ai.yaml",
            "dry": true,
            "expect": {"result": "went on"},
        })
    });
    hold(dry);
}
