//! Published clients of other prompt services against a real server.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::service::open;

/// Returns the folder in the target directory into which a script in `scripts` installs its files.
fn installed(place: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let place = here.ancestors().nth(3).unwrap().join(place);
    let there = place.join("node_modules").exists() && place.join("venv/bin/python").exists();
    assert!(
        there,
        "{} is missing: run scripts/{{openai,prompt}}-sdks first",
        place.display()
    );
    place
}

async fn run(sdks: &str, script: &str) {
    let service = open().await;
    let home = installed(sdks);
    let program = match script.rsplit_once('.') {
        Some((_, "py")) => home.join("venv/bin/python"),
        _ => PathBuf::from("node"),
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sdk")
        .join(script);
    let scratch = std::env::temp_dir();
    let output = Command::new(program)
        .arg(script)
        .current_dir(scratch)
        .env("BASE_URL", format!("http://{}", service.address))
        .env("SDK_HOME", home)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(180), output).await;
    let output = output.expect("the script ends").unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.contains("ok all"),
        "{told}\n{failed}"
    );
}

#[tokio::test]
async fn langfuse_for_python() {
    run("prompt-sdks", "langfuse_prompts.py").await;
}

#[tokio::test]
async fn langfuse_for_node() {
    run("prompt-sdks", "langfuse_prompts.mjs").await;
}

#[tokio::test]
async fn litellm() {
    run("prompt-sdks", "litellm_prompts.py").await;
}

#[tokio::test]
async fn mlflow() {
    run("prompt-sdks", "mlflow_prompts.py").await;
}

#[tokio::test]
async fn openai_for_python() {
    run("openai-sdks", "openai_prompts.py").await;
}

#[tokio::test]
async fn openai_for_node() {
    run("openai-sdks", "openai_prompts.mjs").await;
}
