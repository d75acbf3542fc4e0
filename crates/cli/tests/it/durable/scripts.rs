//! Scripts that survive their process.

use quillet_fake_provider::{RecordedRequest, ReplyPart, ScriptedCall, ScriptedReply};
use serde_json::{Value, json};

use super::{World, ask_script, until};
use crate::serve::Running;

/// Model calls and tool calls, made by the script and by the model, in sequence and concurrently.
pub(super) const SCRIPT: &str = r#"---
parameters: {model: gpt-4o}
tools: [look, book]
---
user: Begin
assistant: "[[A]]"
$send(step=40)
user: "Then {{A}}"
assistant: "[[B]]"
$print("between")
$match(1, allMatches=true, parallel=true):
  :1:
    - $look(step=41)
  :> 0:
    - $book(step=45)
$note(step=42)
---
user: "Now {{B}}"
assistant: "[[C]]"
$book(step=43)
user: "At last {{C}}"
assistant: "[[D]]"
$send(step=44)
$ret: "{{D}} That is all."
"#;

/// Number of model calls and tool calls.
pub(super) const ASKED: usize = 5;
pub(super) const CALLS: usize = 8;

/// The model of the script. It first calls two tools, and then repeats the question.
pub(super) fn answer(asked: &RecordedRequest) -> ScriptedReply {
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    if last["content"] == "Begin" {
        let call = |(index, tool): (usize, &str)| {
            ReplyPart::Call(ScriptedCall {
                id: format!("call_{index}"),
                name: tool.to_owned(),
                arguments: vec![json!({"step": 10 + index}).to_string()],
            })
        };
        return ScriptedReply::new(["look", "book"].into_iter().enumerate().map(call).collect());
    }
    let count = messages.len();
    ScriptedReply::text([
        format!("({count}) "),
        last["content"].as_str().unwrap().to_owned(),
    ])
}

/// Request for a durable script run.
pub(super) fn durable() -> Value {
    json!({"features": {"durable": true}, "stream": true})
}

fn get(server: &Running, path: &str) -> String {
    server.request("GET", path, "")
}

fn post(server: &Running, path: &str, body: &Value) -> (u16, Value) {
    let answer = server.request("POST", path, &body.to_string());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn a_script_is_a_run_like_others() {
    let world = World::of_script("sqlite:journal.db", "", SCRIPT, answer);
    let server = world.server();
    let _reader = ask_script(&server, "calm", &durable());
    let run = until(&world, &server, "calm", |run| run["state"] == "ended");
    let came = world.came(&run);
    assert_eq!(run["kind"], "script");
    assert_eq!(run["title"], "prompt/clerk");
    assert_eq!(came.asked, ASKED, "{came:?}");
    assert_eq!(came.calls.len(), CALLS, "{came:?}");
    assert!(came.calls.values().all(|count| *count == 1), "{came:?}");
    assert!(came.text.starts_with("between\n"), "{}", came.text);
    assert!(came.text.ends_with("That is all."), "{}", came.text);
    let listed = get(&server, "/v1/runs?state=ended");
    assert!(listed.contains("prompt/clerk"), "{listed}");
    // The run contains the source of the script.
    let admitted = &run["journal"][0]["request"]["request"]["script"];
    assert_eq!(admitted["text"], SCRIPT);
}

#[test]
fn a_call_of_a_script_waits_and_another_replica_goes_on() {
    let world = World::of_script("sqlite:journal.db", "", SCRIPT, answer);
    let (first, second) = (world.server(), world.server());
    let mut body = durable();
    body["ask"] = json!(["send", "book"]);
    let reader = ask_script(&first, "run", &body);
    let mut asked = Vec::new();
    let run = until(&world, &first, "run", |run| run["state"] == "waiting");
    assert_eq!(run["waiting"][0]["tool"], "book", "{run}");
    drop((reader, first));
    let ended = loop {
        let run = until(&world, &second, "run", |run| {
            run["state"] == "waiting" || run["state"] == "ended"
        });
        if run["state"] == "ended" {
            break run;
        }
        for call in run["waiting"].as_array().unwrap() {
            assert_eq!(call["why"], "permission", "{call}");
            let step = call["arguments"]["step"].as_u64().unwrap();
            asked.push(step);
            let mut body = json!({"call": call["call"], "decision": "approve"});
            if step == 40 {
                body = json!({"call": call["call"], "decision": "edit", "arguments": {"step": 77}});
            }
            if step == 43 {
                body = json!({"call": call["call"], "decision": "result", "text": "by hand"});
            }
            assert_eq!(post(&second, "/v1/response/run/decide", &body).0, 200);
        }
    };
    let came = world.came(&ended);
    assert_eq!(asked, [11, 40, 45, 43, 44], "{came:?}");
    assert_eq!(came.calls.get("send 77"), Some(&1), "{came:?}");
    assert!(!came.calls.contains_key("send 40"), "{came:?}");
    assert!(!came.calls.contains_key("book 43"), "{came:?}");
    assert!(came.calls.values().all(|count| *count == 1), "{came:?}");
    assert_eq!(came.asked, ASKED, "{came:?}");
}

#[test]
fn a_fork_of_a_script_repeats_nothing_and_goes_on_with_another_model() {
    let world = World::of_script("sqlite:journal.db", "", SCRIPT, answer);
    let server = world.server();
    let _reader = ask_script(&server, "run", &durable());
    let run = until(&world, &server, "run", |run| run["state"] == "ended");
    let before = world.came(&run);
    let journal = run["journal"].as_array().unwrap();
    // The fork starts after the call of `note` and before the third question.
    let at = journal
        .iter()
        .find(|step| step["step"] == "called" && step["tool"] == "note")
        .map(|step| step["number"].as_u64().unwrap() + 1)
        .unwrap();
    let system = json!({"at": at, "system": "Do it in another way."});
    let (status, refused) = post(&server, "/v1/runs/run/fork", &system);
    assert_eq!(status, 400, "{refused}");
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("cannot change instructions"),
        "{refused}"
    );
    let body = json!({"at": at, "model": "gpt-4.1"});
    let (status, forked) = post(&server, "/v1/runs/run/fork", &body);
    assert_eq!(status, 200, "{forked}");
    let id = forked["id"].as_str().unwrap();
    let fork = until(&world, &server, id, |run| run["state"] == "ended");
    let after = world.came(&fork);
    assert_eq!(fork["kind"], "script");
    assert_eq!(after.text, before.text);
    let more = &world.provider.requests()[before.asked..];
    assert_eq!(more.len(), 2);
    assert!(
        more.iter().all(|asked| asked.model == "gpt-4.1"),
        "{more:?}"
    );
    let twice: Vec<&String> = after
        .calls
        .iter()
        .filter(|(_, count)| **count == 2)
        .map(|(call, _)| call)
        .collect();
    assert_eq!(twice, ["book 43", "send 44"], "{after:?}");
}

#[test]
fn a_script_that_changes_meanwhile_changes_nothing_of_its_run() {
    let script = "---\nparameters: {model: gpt-4o}\n---\n$helper()\nuser: \"Say {{LatestResult}}\"\nassistant: \"[[A]]\"\n$send(step=1)\n$ret: \"{{A}} old\"\n";
    let mut world = World::of_script("sqlite:journal.db", "", script, answer);
    let helper = |word: &str| format!("---\n---\n$ret: \"{word}\"\n");
    world.place = world
        .place
        .with(&[("s/prompts/helper.ai.yaml", &helper("one"))]);
    let server = world.server();
    let mut body = durable();
    body["ask"] = json!(["send"]);
    let _reader = ask_script(&server, "run", &body);
    until(&world, &server, "run", |run| run["state"] == "waiting");
    drop(server);
    world.place = world.place.with(&[
        ("s/prompts/clerk.ai.yaml", "user: something else\n"),
        ("s/prompts/helper.ai.yaml", &helper("two")),
    ]);
    let server = world.server();
    let approve = json!({"decision": "approve"});
    assert_eq!(post(&server, "/v1/response/run/decide", &approve).0, 200);
    let run = until(&world, &server, "run", |run| run["state"] == "ended");
    let came = world.came(&run);
    assert_eq!(came.text, "(1) Say one old");
    assert_eq!(came.asked, 1);
}

/// Splits the result into the script's value and the text that the model received.
fn split(text: &str) -> Option<(&str, &str)> {
    let (value, said) = text.split_once(" (")?;
    Some((value, said.split_once(") Say ")?.1))
}

/// A value that changes between executions is either replayed or rejected by name.
#[test]
fn what_is_another_the_next_time_is_the_same_or_refused() {
    let same = [
        (
            "random choice",
            r#"assistant: "[[F:|a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p:random]]""#,
        ),
        ("Math.random", r#"$set: {F: "?=String(Math.random())"}"#),
        (
            "Date.now",
            r#"$set: {F: "?=String(Date.now() + Date.now())"}"#,
        ),
        ("new Date", r#"$set: {F: "?=new Date().toISOString()"}"#),
        (
            "go, sprig",
            r#"$set: {templateFormat: go}
user: "{{uuidv4}} {{now | unixEpoch}} {{randAlpha 12}}"
$set: {templateFormat: hf, F: "?=this.prompt.messages[0].content"}"#,
        ),
    ];
    for (what, line) in same {
        let script = format!(
            "---\nparameters: {{model: gpt-4o}}\n---\n{line}\n---\nuser: \"Say {{{{F}}}}\"\nassistant: \"[[A]]\"\n$send(step=1)\n$ret: \"{{{{F}}}} {{{{A}}}}\"\n"
        );
        let world = World::of_script("sqlite:journal.db", "", &script, answer);
        let server = world.server();
        let mut body = durable();
        body["ask"] = json!(["send"]);
        let _reader = ask_script(&server, "run", &body);
        let run = until(&world, &server, "run", |run| {
            run["state"] == "waiting" || run["state"] == "ended"
        });
        assert_eq!(run["state"], "waiting", "{what}: {run:#}");
        drop(server);
        let server = world.server();
        let approve = json!({"decision": "approve"});
        assert_eq!(post(&server, "/v1/response/run/decide", &approve).0, 200);
        let run = until(&world, &server, "run", |run| run["state"] == "ended");
        let came = world.came(&run);
        // The model received its text before the restart, and the script computed its value after
        // the restart.
        let (value, said) = split(&came.text).unwrap_or_else(|| panic!("{what}: {run:#}"));
        assert_eq!(value, said, "{what}");
        assert!(!value.is_empty(), "{what}");
        println!("{what:<14} {value}");
    }
    let refused = [
        (
            "files",
            r#"$readFile("notes.txt")"#,
            "a durable run reads only its scripts",
        ),
        (
            "fs",
            "!fn |-\n  function read() { return require('fs').readFileSync('/etc/hostname', 'utf8'); }\n$set: {F: \"?=this.$read()\"}",
            "`fs` is not available in a durable run",
        ),
        (
            "timers",
            "!fn |-\n  async function wait() { await new Promise((done) => setTimeout(done, 5)); return 1; }\n$set: {F: \"?=await this.$wait()\"}",
            "timers are not available in a durable run",
        ),
        (
            "Python",
            "!fn |-\n  [python]\n  def f():\n      return 1\n$set: {F: \"?=this.$f()\"}",
            "functions in Python are not available in a durable run",
        ),
    ];
    for (what, line, says) in refused {
        let script = format!("---\nparameters: {{model: gpt-4o}}\n---\n{line}\n$ret: \"done\"\n");
        let more = "[scripts]\nallow_read = [\"/etc\"]\nallow_run = true\n";
        let world = World::of_script("sqlite:journal.db", "", &script, answer);
        let settings = std::fs::read_to_string(world.place.path().join("quillet.toml")).unwrap();
        let world = World {
            place: world
                .place
                .with(&[("quillet.toml", &format!("{settings}{more}"))]),
            ..world
        };
        let server = world.server();
        let _reader = ask_script(&server, "run", &durable());
        let run = until(&world, &server, "run", |run| run["state"] == "ended");
        let last = run["journal"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["how"], "error", "{what}: {last}");
        assert!(
            last["error"].as_str().unwrap().contains(says),
            "{what}: {last}"
        );
        println!("{what:<14} refused");
    }
}

#[test]
fn requests_that_hold_keys_are_refused() {
    let world = World::of_script("sqlite:journal.db", "", SCRIPT, answer);
    let server = world.server();
    let mut body = json!({"features": {"durable": true}, "variables": {"login": {"token": "t-1"}}});
    let (status, answer) = post(&server, "/api/chat/prompts/clerk", &body);
    assert!(status >= 400, "{answer}");
    assert!(
        answer.to_string().contains("a key among the arguments"),
        "{answer}"
    );
    // A template prompt has no steps to record, so it cannot be durable.
    body = json!({"features": {"durable": true}});
    let (status, answer) = post(&server, "/api/chat/prompts/hi", &body);
    assert_eq!(status, 400, "{answer}");
    assert!(
        answer["detail"]
            .as_str()
            .unwrap()
            .contains("is not a script"),
        "{answer}"
    );
}
