//! A server process that cannot outlive its parent, with a temporary folder.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::template::text;
use crate::user::User;

/// Starts the server, stops it when its own input ends, and removes the folder. The input is a pipe
/// that closes when this process drops it or dies. The file `ended` shows that the server ended on
/// its own.
const SUPERVISOR: &str = r#"
folder=$1; signal=$2; shift 2
exec 3<&0
"$@" </dev/null >"$folder/log" 2>&1 3<&- &
server=$!
{ read -r _ <&3; kill -"$signal" $server 2>/dev/null; } &
wait $server 2>/dev/null
touch "$folder/ended"
wait
rm -rf -- "$folder"
"#;

/// The startup timeout, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
#[derive(Debug)]
pub(crate) struct ChildServer {
    folder: PathBuf,
    supervisor: Child,
    lifeline: Option<ChildStdin>,
}

impl ChildServer {
    /// Starts a server with all of its files in `folder`. `signal` stops it immediately.
    pub(crate) fn start(user: User, folder: PathBuf, signal: &str, command: &[&str]) -> Self {
        use std::os::unix::process::CommandExt;
        let mut shell = user.command("sh");
        shell.args(["-c", SUPERVISOR, "supervisor", text(&folder), signal]);
        shell.args(command);
        shell.stdin(Stdio::piped()).process_group(0);
        let mut supervisor = shell
            .spawn()
            .unwrap_or_else(|error| panic!("sh does not start: {error}"));
        ChildServer {
            folder,
            lifeline: supervisor.stdin.take(),
            supervisor,
        }
    }

    /// Waits until `ready` returns true. If the server ends instead, returns its log as an error.
    ///
    /// # Panics
    /// Panics if neither happens within a minute.
    pub(crate) fn wait(&self, ready: impl Fn(&Path) -> bool) -> Result<(), String> {
        let start = Instant::now();
        while !ready(&self.folder) {
            if self.folder.join("ended").exists() {
                return Err(self.log());
            }
            let patient = start.elapsed() < PATIENCE;
            assert!(patient, "the server does not come up:\n{}", self.log());
            // Servers report readiness in different ways, so poll.
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Stops the server immediately and removes its folder. A second call has no effect.
    pub(crate) fn stop(&mut self) {
        if self.lifeline.take().is_some() {
            let _ = self.supervisor.wait();
        }
    }

    fn log(&self) -> String {
        let bytes = std::fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Creates an empty folder owned by `user`.
pub(crate) fn folder(name: &str, user: User) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let path = std::env::temp_dir().join(format!("quillet-{name}-{process}-{count}"));
    user.run("rm", &["-rf", text(&path)]);
    user.run("mkdir", &["-m", "700", text(&path)]);
    path
}

/// Returns a port that was free a moment ago. The caller must handle a port that is in use again.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0");
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .unwrap_or_else(|error| panic!("no port is free: {error}"))
        .port()
}
