//! Databases behind an SSH server. The system's `ssh` forwards a local port to the database.
//!
//! `ssh` performs the login with its agent, configuration and known hosts, or with credentials from
//! the definition ([`secrets`]). It never prompts on a terminal, and rejects unknown hosts. TLS
//! certificates are verified for 127.0.0.1.

mod secrets;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::BoxFuture;
use secrets::Secrets;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::database::{ConnectOptions, ConnectionReport, Database, ProgressFn, QueryLimits};
use crate::stream::{RowSink, StreamEnd};
use crate::{
    Catalogue, ConnectionUrl, DatabaseError, DatabaseErrorKind, SqlDialect, SshAuth, SshConfig,
    connect,
};

/// Starts `ssh` and stops it when its own standard input closes, which happens when the tunnel is
/// dropped or this process dies.
const SUPERVISOR: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- &
ssh=$!
{ read -r _ <&3; kill $ssh 2>/dev/null; } 2>/dev/null &
wait $ssh
"#;
/// Maximum bytes of stderr output of `ssh` to retain.
const SAID: usize = 2_000;
/// Attempts to find a free port, because another process may take one in the meantime.
const PORTS: usize = 3;
/// Interval for checking whether the port is open.
const PAUSE: Duration = Duration::from_millis(20);

/// Creates a database behind an SSH server, without connecting.
///
/// # Errors
/// Fails if the URL is not that of a server, or if the host or user of the tunnel is invalid.
pub(crate) fn open_through_ssh(
    url: &ConnectionUrl,
    ssh: &SshConfig,
    options: &ConnectOptions,
) -> Result<Arc<dyn Database>, DatabaseError> {
    if url.dialect == SqlDialect::Sqlite {
        return Err(unreachable("a file needs no tunnel: remove sshConfig"));
    }
    for (what, text) in [("host", &ssh.host), ("username", &ssh.username)] {
        let is_word = |c: char| c.is_alphanumeric() || "._-:@%\\".contains(c);
        if text.is_empty() || text.starts_with('-') || !text.chars().all(is_word) {
            return Err(unreachable(format!("invalid sshConfig.{what} {text:?}")));
        }
    }
    if ssh.auth_type == Some(SshAuth::Password) && secrets::answer(ssh).is_none() {
        let message = "missing sshConfig.password: set it, or use authType \"key\"";
        return Err(unreachable(message));
    }
    // Opening the URL directly reports its errors now instead of on first use.
    connect(url, options)?;
    Ok(Arc::new(TunneledDatabase {
        url: url.clone(),
        ssh: ssh.clone(),
        options: options.clone(),
        open: Mutex::new(None),
    }))
}

fn unreachable(message: impl Into<String>) -> DatabaseError {
    DatabaseError::new(DatabaseErrorKind::Unreachable, message)
}

/// A database with its tunnel, which is opened on demand and again after it broke.
struct TunneledDatabase {
    url: ConnectionUrl,
    ssh: SshConfig,
    options: ConnectOptions,
    open: Mutex<Option<(Tunnel, Arc<dyn Database>)>>,
}

impl TunneledDatabase {
    async fn database(&self) -> Result<Arc<dyn Database>, DatabaseError> {
        let mut open = self.open.lock().await;
        if let Some((tunnel, database)) = &mut *open
            && tunnel.is_open()
        {
            return Ok(Arc::clone(database));
        }
        *open = None;
        let tunnel = self.tunnel().await?;
        let here = self.url.with_address("127.0.0.1", tunnel.port);
        let database = connect(&here, &self.options)?;
        *open = Some((tunnel, Arc::clone(&database)));
        Ok(database)
    }

    async fn tunnel(&self) -> Result<Tunnel, DatabaseError> {
        // Another process may take the free port before ssh binds it, so this loop retries.
        let mut last = unreachable("ssh was not started");
        for _ in 0..PORTS {
            match Tunnel::open(&self.ssh, &self.url, self.options.connect_timeout).await {
                Ok(tunnel) => return Ok(tunnel),
                Err(error) if error.message.contains("in use") => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }
}

impl fmt::Debug for TunneledDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tunneled({} over {})", self.url, self.ssh.host)
    }
}

/// A running `ssh` process that forwards a port. Dropping it stops the process.
struct Tunnel {
    port: u16,
    supervisor: Child,
    _lifeline: Option<ChildStdin>,
    _secrets: Option<Secrets>,
}

impl Tunnel {
    async fn open(
        ssh: &SshConfig,
        url: &ConnectionUrl,
        time: Duration,
    ) -> Result<Self, DatabaseError> {
        let port = free_port().map_err(|error| unreachable(format!("no free port: {error}")))?;
        let secrets = Secrets::of(ssh);
        let secrets = secrets.map_err(|error| {
            unreachable(format!("cannot pass the key or password to ssh: {error}"))
        })?;
        let mut command = Command::new("sh");
        command.args(["-c", SUPERVISOR, "tunnel", "ssh"]);
        let arguments = arguments(ssh, url, port, time, secrets.as_ref());
        command.args(arguments).arg(&ssh.host);
        if let Some(secrets) = secrets.as_ref().filter(|_| secrets::answer(ssh).is_some()) {
            secrets.set_askpass(&mut command);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let spawned = command.kill_on_drop(true).spawn();
        let mut supervisor =
            spawned.map_err(|error| unreachable(format!("cannot start ssh: {error}")))?;
        let said = capture_stderr(&mut supervisor);
        let mut tunnel = Tunnel {
            port,
            _lifeline: supervisor.stdin.take(),
            _secrets: secrets,
            supervisor,
        };
        match timeout(time, tunnel.wait()).await {
            Ok(true) => Ok(tunnel),
            Ok(false) => {
                // This kills ssh and closes its stderr, which `said` reads to the end.
                drop(tunnel);
                let said = said.await.unwrap_or_default();
                Err(unreachable(format!(
                    "cannot open a tunnel over {}: {}",
                    ssh.host,
                    said.trim()
                )))
            }
            Err(_) => Err(unreachable(format!(
                "timeout: no tunnel over {} within {time:?}",
                ssh.host
            ))),
        }
    }

    /// Waits until the port is open; returns `false` if `ssh` exited instead.
    async fn wait(&mut self) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        while self.is_open() {
            if TcpStream::connect(address).await.is_ok() {
                return true;
            }
            sleep(PAUSE).await;
        }
        false
    }

    fn is_open(&mut self) -> bool {
        matches!(self.supervisor.try_wait(), Ok(None))
    }
}

/// Returns the arguments of `ssh` before the host.
fn arguments(
    ssh: &SshConfig,
    url: &ConnectionUrl,
    port: u16,
    time: Duration,
    secrets: Option<&Secrets>,
) -> Vec<String> {
    let forward = format!("127.0.0.1:{port}:{}:{}", url.host, url.port);
    let mut arguments: Vec<String> = ["-N", "-T", "-L", &forward, "-l", &ssh.username]
        .map(str::to_owned)
        .into();
    let seconds = time.as_secs().max(1).to_string();
    let known = ssh.known_hosts_file.as_ref();
    let key = secrets.filter(|_| ssh.private_key.is_some());
    let key = key.and_then(|secrets| secrets.key().to_str().map(str::to_owned));
    let key = key.or_else(|| ssh.identity_file.clone());
    // In batch mode, ssh does not ask for secrets at all, not even through the askpass program.
    let batch = if secrets::answer(ssh).is_some() {
        "no"
    } else {
        "yes"
    };
    let methods = match ssh.auth_type {
        Some(SshAuth::Password) => Some("password,keyboard-interactive"),
        Some(SshAuth::Key) => Some("publickey"),
        None => None,
    };
    for (name, value) in [
        ("BatchMode", Some(batch)),
        ("StrictHostKeyChecking", Some("yes")),
        ("NumberOfPasswordPrompts", Some("1")),
        ("PreferredAuthentications", methods),
        // Without this option, ssh would stay connected without forwarding a port.
        ("ExitOnForwardFailure", Some("yes")),
        ("ServerAliveInterval", Some("15")),
        ("ConnectTimeout", Some(seconds.as_str())),
        ("IdentityFile", key.as_deref()),
        ("UserKnownHostsFile", known.map(String::as_str)),
    ] {
        let option = value.map(|value| format!("-o{name}={}", quoted(value)));
        arguments.extend(option);
    }
    if let Some(port) = ssh.port {
        arguments.push(format!("-p{port}"));
    }
    // A host that starts with a dash must not become an option.
    arguments.push("--".to_owned());
    arguments
}

/// Quotes an option value, so that it is one word regardless of its content.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace(['"', '\n'], ""))
}

/// Captures the start of stderr. The rest is read and discarded, so that `ssh` never blocks on a
/// full pipe.
fn capture_stderr(child: &mut Child) -> JoinHandle<String> {
    let stderr = child.stderr.take();
    tokio::spawn(async move {
        let (mut said, mut buffer) = (Vec::new(), [0; 512]);
        let Some(mut stderr) = stderr else {
            return String::new();
        };
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            let room = SAID.saturating_sub(said.len());
            said.extend(buffer.iter().take(count.min(room)));
        }
        String::from_utf8_lossy(&said).into_owned()
    })
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Database for TunneledDatabase {
    fn dialect(&self) -> SqlDialect {
        self.url.dialect
    }

    fn describe(&self) -> String {
        format!("{} over {}", self.url, self.ssh.host)
    }

    fn check(&self) -> BoxFuture<'_, Result<ConnectionReport, DatabaseError>> {
        Box::pin(async { self.database().await?.check().await })
    }

    fn catalogue<'a>(
        &'a self,
        progress: ProgressFn<'a>,
    ) -> BoxFuture<'a, Result<Catalogue, DatabaseError>> {
        Box::pin(async move { self.database().await?.catalogue(progress).await })
    }

    fn fingerprint(&self) -> BoxFuture<'_, Result<String, DatabaseError>> {
        Box::pin(async { self.database().await?.fingerprint().await })
    }

    fn query_into<'a>(
        &'a self,
        sql: &'a str,
        limits: &'a QueryLimits,
        sink: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<StreamEnd, DatabaseError>> {
        Box::pin(async move { self.database().await?.query_into(sql, limits, sink).await })
    }
}

#[cfg(test)]
mod tests {
    use quillet_test_support::{MariaDb, Sshd};

    use super::*;

    fn config(sshd: &Sshd) -> SshConfig {
        SshConfig {
            host: "127.0.0.1".to_owned(),
            port: Some(sshd.port()),
            username: sshd.username().to_owned(),
            identity_file: sshd.identity().to_str().map(str::to_owned),
            known_hosts_file: sshd.known_hosts().to_str().map(str::to_owned),
            ..SshConfig::default()
        }
    }

    /// Returns the key encrypted with a passphrase.
    fn locked(sshd: &Sshd, passphrase: &str) -> String {
        let copy = sshd.identity().with_extension("locked");
        std::fs::copy(sshd.identity(), &copy).unwrap();
        let done = std::process::Command::new("ssh-keygen")
            .args(["-q", "-p", "-P", "", "-N", passphrase, "-f"])
            .arg(&copy)
            .status();
        assert!(done.unwrap().success());
        std::fs::read_to_string(copy).unwrap()
    }

    /// A browser's form sends texts instead of files.
    #[tokio::test]
    async fn a_key_can_be_a_text_with_a_passphrase() {
        let (server, sshd) = (MariaDb::start(), Sshd::start());
        let plain = std::fs::read_to_string(sshd.identity()).unwrap();
        let base = SshConfig {
            identity_file: None,
            auth_type: Some(SshAuth::Key),
            ..config(&sshd)
        };
        let (right, wrong) = ("op en \"sesame\" $1", "shut");
        for (key, passphrase, refused) in [
            (plain.replace('\n', "\r\n").trim().to_owned(), None, None),
            (locked(&sshd, right), Some(right), None),
            (locked(&sshd, right), Some(wrong), Some("Permission denied")),
            (locked(&sshd, right), None, Some("Permission denied")),
        ] {
            let ssh = SshConfig {
                private_key: Some(key),
                key_passphrase: passphrase.map(str::to_owned),
                ..base.clone()
            };
            let checked = open(&server, &ssh).check().await;
            match (checked, refused) {
                (Ok(_), None) => {}
                (Err(error), Some(part)) => {
                    assert!(error.message.contains(part), "{passphrase:?}: {error}");
                }
                (checked, _) => panic!("{passphrase:?}: {checked:?}"),
            }
        }
    }

    #[test]
    fn nothing_secret_is_shown() {
        let ssh = SshConfig {
            password: Some("s3cret".to_owned()),
            private_key: Some("s3cret".to_owned()),
            key_passphrase: Some("s3cret".to_owned()),
            ..SshConfig::default()
        };
        let shown = format!("{ssh:?} {}", serde_json::to_string(&ssh.shown()).unwrap());
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    /// The files are private to this user, and are removed with the tunnel.
    #[test]
    fn secrets_are_files_of_ours_for_a_while() {
        use std::os::unix::fs::PermissionsExt;
        let ssh = SshConfig {
            password: Some("s3cret".to_owned()),
            private_key: Some("k".to_owned()),
            ..SshConfig::default()
        };
        let secrets = Secrets::of(&ssh).unwrap().unwrap();
        let folder = secrets.key().parent().unwrap().to_owned();
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&secrets.key()), 0o600);
        let asked = std::process::Command::new(folder.join("askpass")).output();
        assert_eq!(asked.unwrap().stdout, b"s3cret\n");
        drop(secrets);
        assert!(!folder.exists());
        assert!(Secrets::of(&SshConfig::default()).unwrap().is_none());
    }

    fn open(server: &MariaDb, ssh: &SshConfig) -> Arc<dyn Database> {
        let url = server.url().parse().unwrap();
        let options = ConnectOptions {
            // The test runs as the owner of the server.
            powerful_roles: true,
            ..ConnectOptions::default()
        };
        open_through_ssh(&url, ssh, &options).unwrap()
    }

    /// Returns whether an `ssh` process forwards to this port.
    fn forwards(port: u16) -> bool {
        let list = std::process::Command::new("ps")
            .args(["-eo", "args"])
            .output()
            .unwrap();
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        let target = format!(":127.0.0.1:{port}");
        list.lines()
            .any(|line| line.starts_with("ssh ") && line.contains(&target))
    }

    #[tokio::test]
    async fn a_database_is_reached_through_a_tunnel_that_goes_with_it() {
        let (server, sshd) = (MariaDb::start(), Sshd::start());
        let database = open(&server, &config(&sshd));
        assert!(!forwards(server.port()), "opened before it was needed");
        for _ in 0..2 {
            let rows = database
                .query("SELECT 1", &QueryLimits::default())
                .await
                .unwrap();
            assert_eq!(rows.rows, [[crate::Cell::Int(1)]]);
        }
        assert!(forwards(server.port()));
        drop(database);
        while forwards(server.port()) {
            sleep(PAUSE).await;
        }
    }

    #[tokio::test]
    async fn no_way_through_is_said() {
        let (server, mut sshd) = (MariaDb::start(), Sshd::start());
        let good = config(&sshd);
        let unknown = SshConfig {
            known_hosts_file: Some("/dev/null".to_owned()),
            ..good.clone()
        };
        let stranger = SshConfig {
            username: "nobody-here".to_owned(),
            ..good.clone()
        };
        for (ssh, part) in [
            (unknown, "Host key verification failed"),
            (stranger, "Permission denied"),
        ] {
            let error = open(&server, &ssh).check().await.unwrap_err();
            assert_eq!(error.kind, DatabaseErrorKind::Unreachable);
            assert!(error.message.contains(part), "{error}");
        }
        sshd.stop();
        let error = open(&server, &good).check().await.unwrap_err();
        assert!(error.message.contains("refused"), "{error}");
    }

    #[test]
    fn what_cannot_be_a_host_or_a_user_is_refused() {
        let url: ConnectionUrl = "mysql://u@db/d".parse().unwrap();
        for (host, username) in [
            ("", "u"),
            ("-oProxyCommand=x", "u"),
            ("h", "-v"),
            ("h;x", "u"),
            ("h", "u v"),
        ] {
            let ssh = SshConfig {
                host: host.to_owned(),
                username: username.to_owned(),
                ..SshConfig::default()
            };
            let error = open_through_ssh(&url, &ssh, &ConnectOptions::default()).unwrap_err();
            assert!(error.message.contains("sshConfig."), "{error}");
        }
        let file: ConnectionUrl = "sqlite:x.db".parse().unwrap();
        let error =
            open_through_ssh(&file, &SshConfig::default(), &ConnectOptions::default()).unwrap_err();
        assert!(error.message.contains("no tunnel"), "{error}");
    }
}
