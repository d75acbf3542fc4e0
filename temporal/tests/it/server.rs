//! A separate Temporal server for each test.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use quillet_test_support::{TempDir, free_port};

/// A Temporal server whose state is in a database file, so that the state survives a restart.
pub struct Temporal {
    program: PathBuf,
    folder: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Temporal {
    pub fn start() -> Self {
        let program = std::env::var_os("TEMPORAL_BIN");
        let program =
            program.expect("TEMPORAL_BIN names the program temporal: run scripts/temporal");
        let mut temporal = Temporal {
            program: program.into(),
            folder: TempDir::new(),
            port: free_port(),
            child: None,
        };
        temporal.begin();
        temporal
    }

    /// Starts or restarts the server.
    pub fn begin(&mut self) {
        let file = self.folder.path().join("t.db");
        let (http, metrics) = (free_port(), free_port());
        let child = self
            .command()
            .args([
                "server",
                "start-dev",
                "--headless",
                "--ip",
                "127.0.0.1",
                "--log-level",
                "never",
            ])
            .args([
                "--port",
                &self.port.to_string(),
                "--http-port",
                &http.to_string(),
            ])
            .args(["--metrics-port", &metrics.to_string()])
            .arg("--db-filename")
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.unwrap());
        let began = Instant::now();
        loop {
            let health = self
                .command()
                .args([
                    "operator",
                    "cluster",
                    "health",
                    "--address",
                    &self.address(),
                ])
                .output()
                .unwrap();
            if String::from_utf8_lossy(&health.stdout).contains("SERVING") {
                return;
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "Temporal does not begin"
            );
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("HOME", self.folder.path());
        command
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Temporal {
    fn drop(&mut self) {
        self.kill();
    }
}
