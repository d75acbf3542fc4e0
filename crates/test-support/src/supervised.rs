//! A server process that cannot outlive its parent, with a temporary folder.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::template::text;
use crate::user::User;

/// Starts the server, stops it when its own input ends, and removes the folder. The input is a pipe
/// that closes when we drop it or die. `ended` says that the server ended by itself.
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

/// How long a server may take to come up on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
#[derive(Debug)]
pub(crate) struct ChildServer {
    folder: PathBuf,
    supervisor: Child,
    lifeline: Option<ChildStdin>,
}

impl ChildServer {
    /// Starts a server whose files are all in `folder`; `signal` stops it at once.
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

    /// Waits until `ready` says so. `Err` has the server's log if it ended instead.
    ///
    /// # Panics
    /// The server did neither within a minute.
    pub(crate) fn wait(&self, ready: impl Fn(&Path) -> bool) -> Result<(), String> {
        let start = Instant::now();
        while !ready(&self.folder) {
            if self.folder.join("ended").exists() {
                return Err(self.log());
            }
            let patient = start.elapsed() < PATIENCE;
            assert!(patient, "the server does not come up:\n{}", self.log());
            // Polling is enough: servers report readiness in different ways.
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Stops the server at once and removes its folder. Does nothing the second time.
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

/// A new, empty folder that belongs to `user`.
pub(crate) fn folder(name: &str, user: User) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let path = std::env::temp_dir().join(format!("quillet-{name}-{process}-{count}"));
    user.run("rm", &["-rf", text(&path)]);
    user.run("mkdir", &["-m", "700", text(&path)]);
    path
}

/// Returns a port that was free a moment ago. The caller must handle that it is in use by now.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0");
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .unwrap_or_else(|error| panic!("no port is free: {error}"))
        .port()
}
