//! Scripts whose front matter requires approval of calls: `ask`.

use serde_json::{Value, json};

use super::scripts::answer;
use super::{World, ask_script, until};
use crate::Done;
use crate::ask::{borrowed, reach};
use crate::pseudo_terminal::Terminal;
use crate::serve::Running;

const SCRIPT: &str = r#"---
parameters: {model: gpt-4o}
ask: [send]
---
$look(step=1)
$send(step=2)
user: "Say it"
assistant: "[[A]]"
$send(step=3)
$ret: "{{A}} That is all."
"#;

/// A helper script whose call of `send` needs approval.
const HELPER: &str = "---\nask: [\"s*\"]\n---\n$send(step=2)\n$ret: \"helped\"\n";
const CALLER: &str =
    "---\nimport: [./helper]\n---\n$look(step=1)\n$helper()\n$ret: \"{{LatestResult}}\"\n";

fn world(script: &str) -> World {
    let mut world = World::of_script("sqlite:journal.db", "", script, answer);
    world.place = world.place.with(&[("s/prompts/helper.ai.yaml", HELPER)]);
    world
}

fn post(server: &Running, path: &str, body: &Value) -> (u16, String) {
    let answer = server.request("POST", path, &body.to_string());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

fn made(world: &World, call: &str) -> usize {
    world.tools.counts().get(call).copied().unwrap_or_default()
}

#[test]
fn a_script_that_asks_is_durable_by_itself_and_another_replica_decides() {
    let world = world(SCRIPT);
    let (first, second) = (world.server(), world.server());
    let reader = ask_script(&first, "run", &json!({"stream": true}));
    let run = until(&world, &first, "run", |run| run["state"] == "waiting");
    assert_eq!(run["waiting"][0]["tool"], "send", "{run:#}");
    assert_eq!(run["waiting"][0]["why"], "permission", "{run:#}");
    assert_eq!((made(&world, "look 1"), made(&world, "send 2")), (1, 0));
    drop((reader, first));
    for step in [2, 3] {
        let run = until(&world, &second, "run", |run| run["state"] == "waiting");
        assert_eq!(run["waiting"][0]["arguments"]["step"], step, "{run:#}");
        assert_eq!(made(&world, &format!("send {step}")), 0);
        let approve = json!({"decision": "approve"});
        assert_eq!(post(&second, "/v1/response/run/decide", &approve).0, 200);
        until(&world, &second, "run", |_| {
            made(&world, &format!("send {step}")) == 1
        });
    }
    let run = until(&world, &second, "run", |run| run["state"] == "ended");
    let came = world.came(&run);
    assert!(came.calls.values().all(|count| *count == 1), "{came:?}");
    assert_eq!((came.asked, came.calls.len()), (1, 3), "{came:?}");
    assert!(came.text.ends_with("(1) Say it That is all."), "{came:?}");
}

#[test]
fn a_client_of_openai_sees_the_call_that_waits() {
    let world = world(SCRIPT);
    let server = world.server();
    let body = json!({"model": "prompt/clerk", "messages": [{"role": "user", "content": "Go"}]});
    let (status, body) = post(&server, "/v1/chat/completions", &body);
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    let choice = &body["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{body}");
    assert_eq!(
        choice["message"]["tool_calls"][0]["function"]["name"], "send",
        "{body}"
    );
    assert_eq!(made(&world, "send 2"), 0);
}

/// Approvals of an imported script apply, even if its caller does not know them.
#[test]
fn a_script_that_is_called_asks_for_itself() {
    let world = world(CALLER);
    let server = world.server();
    let (status, said) = post(&server, "/api/chat/prompts/clerk", &json!({}));
    assert!(status >= 400, "{said}");
    for part in ["`send` needs approval", "features.durable"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!((made(&world, "look 1"), made(&world, "send 2")), (1, 0));
    let _reader = ask_script(&server, "run", &json!({"features": {"durable": true}}));
    let run = until(&world, &server, "run", |run| run["state"] == "waiting");
    assert_eq!(run["waiting"][0]["tool"], "send", "{run:#}");
    let approve = json!({"decision": "approve"});
    assert_eq!(post(&server, "/v1/response/run/decide", &approve).0, 200);
    let run = until(&world, &server, "run", |run| run["state"] == "ended");
    assert_eq!(world.came(&run).text, "helped");
    assert_eq!(made(&world, "send 2"), 1);
    // As a prompt tool, the script has a separate run that cannot wait for approval, so nothing is
    // called.
    let mut world = world;
    let by_tool = CALLER.replace("import: [./helper]\n", "");
    world.place = world.place.with(&[("s/prompts/clerk.ai.yaml", &by_tool)]);
    let server = world.server();
    let _reader = ask_script(&server, "tool", &json!({"features": {"durable": true}}));
    let run = until(&world, &server, "tool", |run| run["state"] == "ended");
    let last = run["journal"].as_array().unwrap().last().unwrap();
    assert!(
        last["error"]
            .as_str()
            .unwrap()
            .contains("a script that calls this one must import it"),
        "{last}"
    );
    assert_eq!(made(&world, "send 2"), 1);
}

#[test]
fn what_asks_for_nothing_that_can_be_meant_is_refused() {
    for (ask, says) in [
        ("\"What is your name?\"", "invalid pattern"),
        ("{send: true}", "invalid permission: expected a string"),
        ("['!send']", "only patterns with `!`"),
        ("['']", "empty pattern"),
    ] {
        let script = format!("---\nask: {ask}\n---\n$ret: 1\n");
        let place = crate::Place::new().with(&[("s.ai.yaml", &script)]);
        for command in ["check", "run"] {
            let done = place.run(&[command, "s.ai.yaml"]);
            let said = format!("{}{}", done.out, done.err);
            assert_ne!(done.code, Some(0), "{command} {ask}: {said}");
            for part in [says, "s.ai.yaml:2:", "lists tools that need approval"] {
                assert!(said.contains(part), "{command} {ask}: {said}");
            }
        }
    }
}

fn run(world: &World, args: &[&str]) -> Done {
    let around = reach(&world.provider);
    let args = [args, &["--store", "dir:s"]].concat();
    world.place.run_with(&args, "", &borrowed(&around))
}

#[test]
fn without_a_terminal_nothing_is_called_that_somebody_was_to_agree_to() {
    let world = world(SCRIPT);
    let done = run(&world, &["run", "s/prompts/clerk.ai.yaml"]);
    assert_ne!(done.code, Some(0), "{done:?}");
    for part in ["`send` needs approval", "quillet run --durable"] {
        assert!(done.err.contains(part), "{done:?}");
    }
    assert_eq!((made(&world, "look 1"), made(&world, "send 2")), (1, 0));
    // A dry run calls no tools, so it needs no approval.
    let dry = run(&world, &["run", "--dry-run", "s/prompts/clerk.ai.yaml"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
}

#[test]
fn a_terminal_asks() {
    for (word, code, calls) in [("y", 0, 1), ("n", 1, 0), ("\u{3}", 130, 0)] {
        let world = world(SCRIPT);
        let args = ["run", "s/prompts/clerk.ai.yaml", "--store", "dir:s"];
        let mut command = world.place.command(&args);
        command.envs(reach(&world.provider));
        let mut terminal = Terminal::start(command);
        terminal.until("\"step\":2");
        terminal.until("needs approval. Allow the call? y, n, or a reason to deny");
        terminal.until("> ");
        assert_eq!(made(&world, "send 2"), 0);
        if word == "\u{3}" {
            terminal.types(word);
        } else {
            terminal.types(&format!("{word}\r"));
        }
        if word == "y" {
            terminal.until("\"step\":3");
            terminal.until("> ");
            terminal.types("y\r");
            terminal.until("That is all.");
        }
        let ended = terminal.end();
        if code == 1 {
            assert!(ended.is_some_and(|code| code != 0), "{}", terminal.shown);
            assert!(
                terminal.shown.contains("did not agree"),
                "{}",
                terminal.shown
            );
        } else {
            assert_eq!(ended, Some(code), "{word:?}: {}", terminal.shown);
        }
        assert_eq!(made(&world, "send 2"), calls, "{word:?}");
        assert_eq!(made(&world, "look 1"), 1, "{word:?}");
    }
}

#[test]
fn a_durable_command_waits_is_decided_about_and_goes_on() {
    let world = world(SCRIPT);
    let done = run(&world, &["run", "--durable", "clerk"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("the run needs approval"), "{done:?}");
    let listed = run(&world, &["runs", "list", "--state", "waiting"]);
    let id = listed.out.split(' ').next().unwrap().to_owned();
    assert!(listed.out.contains("send"), "{listed:?}");
    let wrong = run(&world, &["runs", "decide", &id, "edit"]);
    wrong.fails(2, &["`edit` needs `arguments`"]);
    let edit = [
        "runs",
        "decide",
        &id,
        "edit",
        "--arguments",
        r#"{"step": 7}"#,
    ];
    assert_eq!(run(&world, &edit).code, Some(0));
    let resumed = run(&world, &["runs", "resume", &id]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!((made(&world, "send 7"), made(&world, "send 2")), (1, 0));
    assert_eq!(
        run(&world, &["runs", "decide", &id, "approve"]).code,
        Some(0)
    );
    let resumed = run(&world, &["runs", "resume", &id]);
    assert!(resumed.out.contains("That is all."), "{resumed:?}");
    let calls = world.tools.counts();
    assert!(calls.values().all(|count| *count == 1), "{calls:?}");
    assert_eq!(world.provider.requests().len(), 1);
}
