//! Traces of the published Langfuse client for Python, compressed by the client and read back
//! through its own routes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Place;
use crate::serve::Running;

/// Folder below the target directory in which `scripts/prompt-sdks` installs the clients.
fn installed() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let place = here.ancestors().nth(3).unwrap().join("prompt-sdks");
    assert!(
        place.join("langfuse-4").exists(),
        "{} is missing: run scripts/prompt-sdks first",
        place.display()
    );
    place
}

#[test]
fn observations_come_back_with_the_prompts_that_they_used() {
    let place = Place::new();
    let env = [("QUILLET_TRACES", "traces.db")];
    let args = ["--store", "sqlite:s.db", "--model", "mock"];
    let server = Running::start_with(&place, &args, &env);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/langfuse_traces.py");
    let sdks = installed();
    // The first run uses version 4 of the client, which sends whole traces, and the second uses
    // version 5, which sends observations.
    for more in ["langfuse-4", "none"] {
        let output = Command::new(sdks.join("venv/bin/python"))
            .arg(&script)
            .current_dir(place.path())
            .env("BASE_URL", format!("http://{}", server.address))
            .env("PYTHONPATH", sdks.join(more))
            .env_remove("OTEL_EXPORTER_OTLP_COMPRESSION")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        let failed = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && told.contains("ok all"),
            "{more}: {told}\n{failed}"
        );
    }
}
