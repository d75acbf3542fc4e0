//! Scripts: concurrent calls, approvals, and a worker killed at every point.

use std::fs;
use std::time::Duration;

use quillet_fake_provider::{ReplyPart, ScriptedCall, ScriptedReply};
use serde_json::{Value, json};

use crate::large::history;
use crate::server::Temporal;
use crate::tools::{Trap, counts};
use crate::world::{Came, World};

/// Model calls and tool calls by the script and by the model, sequential and concurrent, with
/// random choices and a second script.
const SCRIPT: &str = r#"---
parameters: {model: gpt-4o}
tools: [look, book]
---
user: Begin
assistant: "[[A]]"
$send(step=40)
assistant: "[[F:|1|2|3|4|5|6|7|8|9:random]]"
user: "Then {{A}} {{F}}"
assistant: "[[B]]"
$print("between")
$match(1, allMatches=true, parallel=true):
  :1:
    - "-> aside(word='one')"
    - $look(step=41)
  :> 0:
    - "-> aside(word='two')"
    - $book(step=45)
$note(step=42)
---
user: "Now {{B}}"
assistant: "[[C]]"
$send(step=44)
$ret: "{{C}} That is all."
"#;

const ASIDE: &str = r#"---
parameters: {model: gpt-4o}
input: [word]
---
user: "Aside {{word}}"
assistant: "[[X]]"
$ret: "{{X}}"
"#;

/// Number of model calls and of tool calls.
const ASKED: usize = 6;
const CALLS: usize = 7;

/// The model of the script: first calls two tools, then repeats its request without the random
/// digit.
fn answer(body: &Value) -> ScriptedReply {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.last().unwrap()["content"].as_str().unwrap();
    if last == "Begin" {
        let call = |(index, tool): (usize, &str)| {
            ReplyPart::Call(ScriptedCall {
                id: format!("call_{index}"),
                name: tool.to_owned(),
                arguments: vec![json!({"step": 10 + index}).to_string()],
            })
        };
        return ScriptedReply::new(["look", "book"].into_iter().enumerate().map(call).collect());
    }
    let words: String = last.chars().filter(|c| !c.is_ascii_digit()).collect();
    ScriptedReply::text([format!("({}) ", messages.len()), words]).pause(PAUSE)
}

/// Delay between the chunks of an answer, in which a worker can be killed.
const PAUSE: Duration = Duration::from_millis(120);

fn world(temporal: &Temporal) -> World {
    World::with(&temporal.address(), 2, "", "", answer)
        .with_file("s/prompts/errand.ai.yaml", SCRIPT)
        .with_file("s/prompts/aside.ai.yaml", ASIDE)
}

fn begin(world: &World, id: &str, more: &[&str]) -> String {
    let mut args = vec![
        "run",
        "--variables",
        "{}",
        "-m",
        "prompt/errand",
        "--id",
        id,
    ];
    args.extend(more);
    world.told(&args)
}

/// Result of the script without kills, and the points it passes.
fn calm(temporal: &Temporal) -> (Came, Vec<String>) {
    let world = world(temporal);
    Trap::set(&world.trap, None);
    world.worker(0);
    world.worker(1);
    let run = begin(&world, "calm", &[]);
    let (ended, _) = world.end(&run);
    let came = world.came(&ended);
    assert_eq!(came.asked, ASKED, "{came:?}");
    assert_eq!(came.calls.len(), CALLS, "{came:?}");
    assert!(came.calls.values().all(|count| *count == 1), "{came:?}");
    assert!(came.text.starts_with("between\n"), "{}", came.text);
    assert!(came.text.ends_with("That is all."), "{}", came.text);
    let listed = world.listed();
    assert_eq!(listed[0]["title"], "prompt/errand", "{listed:?}");
    assert_eq!(listed[0]["state"], "done", "{listed:?}");
    let shown = world.told(&["show", &run]);
    assert!(shown.contains("admitted   prompt/errand"), "{shown}");
    let mut points = Trap::passed(&world.trap);
    points.sort();
    points.dedup();
    (came, points)
}

/// Returns the history of a script run without interruptions.
pub fn recorded() -> Vec<u8> {
    let temporal = Temporal::start();
    let world = world(&temporal);
    world.worker(0);
    let run = begin(&world, "run", &[]);
    world.end(&run);
    history(&world, run)
}

#[test]
fn script_result_is_unchanged_by_kills() {
    let temporal = Temporal::start();
    let (calm, points) = calm(&temporal);
    println!(
        "{:>5} {:<40} {:>6} {:>9} {:>8}",
        "point", "killed when", "asked", "repeated", "decided"
    );
    for (number, point) in (1..).zip(&points) {
        let world = world(&temporal);
        Trap::set(&world.trap, Some(point));
        world.worker(0);
        world.worker(1);
        let run = begin(&world, &format!("script-{number}"), &[]);
        let (ended, decided) = world.end(&run);
        let came = world.came(&ended);
        assert!(
            Trap::sprung(&world.trap).is_some(),
            "{point}: nobody was killed"
        );
        let repeated: usize = came.calls.values().map(|count| count - 1).sum();
        println!(
            "{number:>5} {point:<40} {:>6} {repeated:>9} {decided:>8}",
            came.asked
        );
        assert_eq!(came.text, calm.text, "killed when {point}");
        // The killed worker may have been running both concurrent calls.
        let lost = if point.contains("Aside") { 2 } else { 1 };
        assert!(
            came.asked <= calm.asked + lost,
            "killed when {point}: {came:?}"
        );
        for (call, count) in &came.calls {
            let never = call.starts_with("send") || call.starts_with("note");
            assert!(*count == 1 || !never, "killed when {point}: {call} {count}");
        }
        assert_eq!(came.calls.len(), calm.calls.len(), "killed when {point}");
    }
}

#[test]
fn script_calls_are_approved() {
    let temporal = Temporal::start();
    let world = world(&temporal);
    world.worker(0);
    let run = begin(&world, "asks", &["--ask", "send", "--ask", "note"]);
    let mut steps = Vec::new();
    let ended = loop {
        let shown = world.until(&run, |shown| shown["state"] != "running");
        if shown["state"] != "waiting" {
            break shown;
        }
        for call in shown["waiting"].as_array().unwrap() {
            assert_eq!(call["why"], "permission", "{call}");
            let step = call["arguments"]["step"].as_u64().unwrap();
            steps.push(step);
            let more: &[&str] = match step {
                40 => &["edit", "--arguments", r#"{"step": 77}"#],
                42 => &["result", "--text", "by hand"],
                _ => &["approve"],
            };
            let decided = world.decide(&run, call["call"].as_str().unwrap(), more);
            assert!(decided.status.success(), "{decided:?}");
        }
        // Another worker resumes the run.
        world.worker(0);
    };
    let came = world.came(&ended);
    assert_eq!(steps, [40, 42, 44], "{came:?}");
    assert_eq!(came.calls.get("send 77"), Some(&1), "{came:?}");
    assert!(!came.calls.contains_key("send 40"), "{came:?}");
    assert!(!came.calls.contains_key("note 42"), "{came:?}");
    assert_eq!(came.asked, ASKED, "{came:?}");
}

#[test]
fn script_rows_run_and_other_prompts_are_rejected() {
    let temporal = Temporal::start();
    let world = world(&temporal);
    world.worker(0);
    world.worker(1);
    let (input, output) = (
        temporal.folder().join("in.jsonl"),
        temporal.folder().join("out.jsonl"),
    );
    let words = ["one", "two", "three"];
    let rows =
        words.map(|word| json!({"custom_id": word, "variables": {"word": word}}).to_string());
    fs::write(&input, rows.join("\n")).unwrap();
    let (from, to) = (input.to_str().unwrap(), output.to_str().unwrap());
    world.told(&["batch", from, "-m", "prompt/aside", "-o", to]);
    let said = fs::read_to_string(&output).unwrap();
    let texts: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (word, row) in words.iter().zip(&texts) {
        assert_eq!(row["custom_id"], *word, "{row}");
        assert_eq!(row["text"], format!("(1) Aside {word}"), "{row}");
    }
    assert_eq!(counts(&world.calls).len(), 0);
    for (args, wanted) in [
        (&["run", "x", "-m", "prompt/hi"][..], "not a script"),
        (&["run", "x", "-m", "prompt/nothing"], "nothing"),
        (
            &["run", "x", "-m", "agent/clerk", "--variables", "{}x"],
            "--variables",
        ),
        (
            &["run", "x", "-m", "agent/clerk", "--variables", "{\"a\": 1}"],
            "prompt/ID",
        ),
        (&["run"], "QUESTION"),
    ] {
        let output = world.client(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(wanted),
            "{args:?}: {said}"
        );
    }
}
