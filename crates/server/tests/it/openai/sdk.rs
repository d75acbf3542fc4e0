//! OpenAI's published SDKs against a real server.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use quillet_fake_provider::{ProviderApi, RecordedRequest, ReplyScript, ScriptedReply};
use quillet_server::ServerConfig;
use tokio::process::Command;

use super::door::{Door, open_with};
use crate::test_server::eventually;

/// Returns the directory installed by `scripts/openai-sdks`.
fn installed() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let place = here.ancestors().nth(3).unwrap().join("openai-sdks");
    assert!(
        place.join("node_modules/openai/package.json").exists()
            && place.join("venv/bin/python").exists(),
        "{} is missing: run scripts/openai-sdks first",
        place.display()
    );
    place
}

/// Models with names that start with `fake-` select their reply by name.
fn answer(asked: &RecordedRequest) -> ScriptedReply {
    match asked.model.as_str() {
        "slow" => ScriptedReply::text(["later"]).delay(Duration::from_secs(60)),
        "scripted-json" => ScriptedReply::text(["{\"city\": \"Paris\", ", "\"people\": 2}"]),
        _ => ScriptedReply::text([asked.json()["messages"].to_string()]),
    }
}

async fn run(program: &Path, script: &str) {
    let config = ServerConfig {
        tokens: vec!["right".into()],
        ..ServerConfig::default()
    };
    let door = open_with(
        ReplyScript::function(answer),
        ProviderApi::OpenAiChat,
        config,
    )
    .await;
    let left = door.provider.left();
    ask(&door, program, script).await;
    eventually("the answer that nobody read has ended", async || {
        door.provider.left() > left
    })
    .await;
}

async fn ask(door: &Door, program: &Path, script: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sdk")
        .join(script);
    let output = Command::new(program)
        .arg(script)
        .env("BASE_URL", format!("http://{}/v1", door.address))
        .env("SDK_HOME", installed())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(120), output).await;
    let output = output.expect("the script ends").unwrap();
    let (told, failed) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{told}\n{failed}");
    assert!(told.contains("ok leaves"), "{told}");
}

#[tokio::test]
async fn the_python_sdk_runs_batches_unchanged() {
    let config = ServerConfig {
        tokens: vec!["right".into(), "other".into()],
        ..ServerConfig::default()
    };
    let door = open_with(
        ReplyScript::function(answer),
        ProviderApi::OpenAiChat,
        config,
    )
    .await;
    ask(&door, &installed().join("venv/bin/python"), "batches.py").await;
}

#[tokio::test]
async fn the_python_sdk_works_unchanged() {
    run(&installed().join("venv/bin/python"), "chat.py").await;
}

#[tokio::test]
async fn the_node_sdk_works_unchanged() {
    run(Path::new("node"), "chat.mjs").await;
}
