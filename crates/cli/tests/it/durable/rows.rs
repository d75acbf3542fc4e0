//! Batch rows with durable runs: a row that is leased again resumes its run.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{World, scripts};
use crate::batches::served::{begin, content, ended};

/// Settings for durable runs of rows, with a short lease and no retries.
const MORE: &str =
    "durable = true\n[batch]\nstore = \"sqlite:batches.db\"\nlease_ms = 500\nretries = 0\n";

fn world(model: &str) -> World {
    match model {
        "agent/clerk" => World::with("sqlite:journal.db", MORE, ""),
        _ => World::of_script("sqlite:journal.db", MORE, scripts::SCRIPT, scripts::answer),
    }
}

#[test]
fn a_row_that_is_handed_out_again_goes_on_with_its_run() {
    // The model, the call during which its process is killed, and whether the call then needs a
    // decision.
    for (model, at, waits) in [
        ("agent/clerk", "look 0", false),
        ("agent/clerk", "send 10", true),
        ("agent/clerk", "look 20", false),
        ("prompt/clerk", "look 10", false),
        ("prompt/clerk", "send 40", true),
        ("prompt/clerk", "book 43", false),
    ] {
        let world = world(model);
        let mut first = world.server();
        let row = json!({"custom_id": "row", "method": "POST", "url": "/v1/chat/completions",
            "body": {"model": model, "messages": [{"role": "user", "content": "Do it"}]}});
        let batch = begin(&first, &format!("{row}\n"));
        let began = Instant::now();
        while !world.tools.counts().contains_key(at) {
            assert!(began.elapsed() < Duration::from_secs(30), "{model}: {at}");
            thread::sleep(Duration::from_millis(2));
        }
        first.child.kill().unwrap();
        first.child.wait().unwrap();
        let second = world.server();
        let batch = ended(&second, &batch, || {});
        let counts = json!({"total": 1, "completed": 1, "failed": 0});
        assert_eq!(batch["request_counts"], counts, "{model}, {at}: {batch}");
        assert_eq!(batch["quillet"]["asked_again"], 1, "{batch}");
        let line = content(&second, &batch["output_file_id"]);
        let line: Value = serde_json::from_str(&line).unwrap();
        let choice = &line["response"]["body"]["choices"][0];
        let calls = world.tools.counts();
        if waits {
            assert_eq!(choice["finish_reason"], "tool_calls", "{at}: {line}");
            let call = &choice["message"]["tool_calls"][0]["function"]["name"];
            assert!(at.starts_with(call.as_str().unwrap()), "{at}: {line}");
        } else {
            assert_eq!(choice["finish_reason"], "stop", "{at}: {line}");
            let text = choice["message"]["content"].as_str().unwrap();
            assert!(text.ends_with("That is all."), "{at}: {text}");
            // A script's answer includes the text that was printed before the kill.
            let beginning = if model == "agent/clerk" {
                ""
            } else {
                "between\n"
            };
            assert!(text.starts_with(beginning), "{at}: {text}");
        }
        for (call, count) in &calls {
            let never = call.starts_with("send") || call.starts_with("note");
            assert!(*count == 1 || !never, "{model}, killed at {at}: {calls:?}");
        }
        let runs = second.request("GET", "/v1/runs", "");
        let (_, runs) = runs.split_once("\r\n\r\n").unwrap();
        let runs: Value = serde_json::from_str(runs).unwrap();
        let runs = runs.as_array().unwrap();
        assert_eq!(runs.len(), 1, "{model}, killed at {at}: {runs:?}");
    }
}
