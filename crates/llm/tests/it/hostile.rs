//! Hostile answers of a provider: `conformance/hostile/upstream.jsonl`.

use std::fs;
use std::path::Path;

use quillet_test_support::scripted::{ResponseScript, ScriptedServer, ServerAction, stream_head};
use serde_json::Value;

use crate::{ask, model};

#[tokio::test]
async fn hostile_answers_stay_inside_the_bounds() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/hostile/upstream.jsonl");
    let mut run = 0;
    for line in fs::read_to_string(path).unwrap().lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        if vector["protocol"] != "openai" {
            continue;
        }
        let id = vector["id"].as_str().unwrap();
        let before = resident();
        let server = ScriptedServer::start(vec![script(&vector)]);
        let (reply, error) = ask(&model(&server)).await;
        let grown = resident().saturating_sub(before);
        println!(
            "{id}: {grown} MB more, {}",
            error
                .as_ref()
                .map_or("no error".into(), ToString::to_string)
        );
        assert!(
            grown <= vector["limits"]["mb"].as_u64().unwrap(),
            "{id}: {grown} MB more"
        );
        let text = reply
            .choices
            .first()
            .map_or("", |choice| choice.text.as_str());
        assert!(!text.contains("EVIL"), "{id}");
        let fails = matches!(
            id,
            "up-v-no-done" | "up-v-long-line" | "up-v-not-json" | "up-v-error-mid"
        );
        if fails {
            assert!(error.is_some(), "{id}");
        }
        let succeeds = matches!(
            id,
            "up-v-crlf" | "up-v-comments" | "up-v-after-done" | "up-v-tool-index"
        );
        assert!(!succeeds || error.is_none(), "{id}: {error:?}");
        run += 1;
    }
    println!("{run} run");
    assert!(run >= 8, "{run} vectors");
}

fn script(vector: &Value) -> ResponseScript {
    let mut script = vec![stream_head()];
    let response = &vector["response"];
    if let Some(text) = response.as_str() {
        script.push(ServerAction::Send(text.as_bytes().to_vec()));
    }
    for segment in response["segments"].as_array().into_iter().flatten() {
        let text = segment[0].as_str().unwrap();
        let times = usize::try_from(segment[1].as_u64().unwrap()).unwrap();
        // Each write contains a thousand repetitions.
        script.push(ServerAction::Repeat(text.repeat(1000).into(), times / 1000));
        script.push(ServerAction::Send(text.repeat(times % 1000).into()));
    }
    script.push(ServerAction::Close);
    script
}

/// Resident memory in MB; 0 if the system does not report it.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096 / (1 << 20)
}
