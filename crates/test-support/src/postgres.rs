//! A real PostgreSQL server for tests.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::supervised::{ChildServer, folder, free_port};
use crate::template::{template, text};
use crate::user::User;

/// The name of the owner. Dumps of sample databases assign their tables to this role.
const OWNER: &str = "postgres";
/// The password of every role, required for TCP connections. It is sent in plain text, which is
/// faster, or with SCRAM if the server has TLS.
const PASSWORD: &str = "s3cret/of:all";
/// The password, percent-encoded for a URL.
const ENCODED: &str = "s3cret%2Fof%3Aall";

/// Settings that trade durability for speed, because tests do not need the data after a crash.
const SETTINGS: &[&str] = &[
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_wal_size=256MB",
    "shared_buffers=32MB",
    "max_connections=40",
    "autovacuum=off",
    "lc_messages=C",
];

/// A PostgreSQL server, stopped and removed on drop.
#[derive(Debug)]
pub struct Postgres {
    server: ChildServer,
    binaries: PathBuf,
    folder: PathBuf,
    port: u16,
}

impl Postgres {
    /// Starts an empty server and waits until it accepts connections.
    ///
    /// # Panics
    /// Panics if PostgreSQL is not installed or does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server like [`Postgres::start`], with additional settings for `postgresql.conf`,
    /// such as `work_mem=64MB`.
    ///
    /// # Panics
    /// Panics under the conditions of [`Postgres::start`].
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Self {
        Self::started(settings, false)
    }

    /// Starts a server like [`Postgres::start`], and enables TLS. The server uses a self-signed
    /// certificate for `localhost` ([`Postgres::certificate`]).
    ///
    /// # Panics
    /// Panics under the conditions of [`Postgres::start`], or if `openssl` is not installed.
    #[must_use]
    pub fn start_with_tls() -> Self {
        Self::started(&["ssl=on"], true)
    }

    /// Starts a server like [`Postgres::start`], and enables TLS. The server uses the given
    /// certificate and key in PEM. If `clients` is set, connections over TCP require a certificate
    /// from that authority.
    ///
    /// # Panics
    /// Panics under the conditions of [`Postgres::start`].
    #[must_use]
    pub fn start_with_certificate(certificate: &str, key: &str, clients: Option<&str>) -> Self {
        let files = TlsFiles {
            certificate,
            key,
            clients,
        };
        let mut settings = vec!["ssl=on"];
        if clients.is_some() {
            settings.push("ssl_ca_file=clients.crt");
        }
        Self::started_with(&settings, |user, data| given(user, data, &files))
    }

    fn started(settings: &[&str], tls: bool) -> Self {
        Self::started_with(settings, |user, data| {
            if tls {
                certificate(user, data);
            }
        })
    }

    fn started_with(settings: &[&str], prepare: impl Fn(User, &Path)) -> Self {
        let binaries = binaries();
        let user = User::for_server("postgres");
        let made = made(&binaries, user);
        // Another process may use the port before the server does.
        let mut last = String::new();
        for _ in 0..5 {
            let folder = folder("postgres-run", user);
            let data = folder.join("data");
            // Copying a prepared data folder is much faster than running initdb for every test.
            user.run("cp", &["-R", text(&made), text(&data)]);
            prepare(user, &data);
            match Self::run(&binaries, user, folder, settings) {
                Ok(server) => return server,
                Err(log) => last = log,
            }
        }
        panic!("PostgreSQL does not start:\n{last}");
    }

    fn run(
        binaries: &Path,
        user: User,
        folder: PathBuf,
        settings: &[&str],
    ) -> Result<Self, String> {
        let port = free_port();
        let (program, data) = (binaries.join("postgres"), folder.join("data"));
        let port_text = port.to_string();
        let sockets = format!("unix_socket_directories={}", text(&folder));
        let mut command = vec![text(&program), "-D", text(&data), "-p", &port_text];
        command.extend(["-c", "listen_addresses=127.0.0.1", "-c", &sockets]);
        for setting in SETTINGS.iter().chain(settings) {
            command.extend(["-c", setting]);
        }
        let server = ChildServer::start(user, folder.clone(), "QUIT", &command);
        server.wait(is_ready)?;
        Ok(Postgres {
            server,
            binaries: binaries.to_owned(),
            folder,
            port,
        })
    }

    /// Returns the URL of the database `postgres` for the owner, who is a superuser.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(OWNER, "postgres")
    }

    /// Returns the URL of a database for a role.
    #[must_use]
    pub fn url_of(&self, role: &str, database: &str) -> String {
        let port = self.port;
        format!("postgresql://{role}:{ENCODED}@127.0.0.1:{port}/{database}")
    }

    /// Returns the server's port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the password, which is the same for every role.
    #[must_use]
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// Returns the folder of the server's socket.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the server's self-signed certificate, which exists only if TLS is
    /// enabled.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("data/server.crt")
    }

    /// Creates an empty database and returns its URL for the owner.
    pub fn create_database(&self, name: &str) -> String {
        self.execute(&format!("CREATE DATABASE \"{name}\" TEMPLATE template0"));
        self.url_of(OWNER, name)
    }

    /// Creates a role that may only log in, and returns its URL for the database `postgres`.
    pub fn create_role(&self, name: &str) -> String {
        self.execute(&format!(
            "CREATE ROLE \"{name}\" LOGIN PASSWORD '{PASSWORD}'"
        ));
        self.url_of(name, "postgres")
    }

    /// Runs a script in the database `postgres` as the owner, with `psql`. The script may be a dump
    /// that contains COPY commands and data.
    ///
    /// # Panics
    /// Panics if a statement fails.
    pub fn execute(&self, script: &str) {
        self.execute_in("postgres", script);
    }

    /// Runs a script in another database.
    ///
    /// # Panics
    /// Panics if a statement fails.
    pub fn execute_in(&self, database: &str, script: &str) {
        self.psql(database, script, &[]);
    }

    /// Runs a query as the owner and returns the result. Columns are separated by `|`. The query
    /// bypasses the driver under test.
    ///
    /// # Panics
    /// Panics if the query fails.
    #[must_use]
    pub fn look(&self, database: &str, query: &str) -> String {
        self.psql(database, query, &["-At"]).trim().to_owned()
    }

    /// Kills the server to simulate a crash. Dropping the server has the same effect.
    pub fn stop(&mut self) {
        self.server.stop();
    }

    fn psql(&self, database: &str, script: &str, options: &[&str]) -> String {
        let port = self.port.to_string();
        let mut command = Command::new(self.binaries.join("psql"));
        command
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", OWNER])
            .args(["-h", text(&self.folder), "-p", &port, "-d", database])
            .args(options)
            .env("PGOPTIONS", "-c client_min_messages=warning")
            .env("PGCLIENTENCODING", "UTF8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn();
        let mut child = child.unwrap_or_else(|error| panic!("psql does not start: {error}"));
        let input = child.stdin.take();
        let script = script.as_bytes().to_owned();
        // psql may write output before it has read its input.
        let writer = std::thread::spawn(move || input.map(|mut pipe| pipe.write_all(&script)));
        let output = child.wait_with_output();
        let output = output.unwrap_or_else(|error| panic!("psql broke off: {error}"));
        let _ = writer.join();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "psql in {database:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Returns the folder with `postgres`, `initdb` and `psql`, on the search path or in Debian's
/// folder of the newest version.
fn binaries() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let mut versions: Vec<PathBuf> = versions
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    versions.sort();
    folders.extend(versions.iter().rev().map(|version| version.join("bin")));
    let is_whole = |folder: &PathBuf| {
        let mut names = ["postgres", "initdb", "psql"].iter();
        names.all(|name| folder.join(name).is_file())
    };
    folders.into_iter().find(is_whole).unwrap_or_else(|| {
        panic!("PostgreSQL is not installed; install it first: apt-get install postgresql")
    })
}

/// Returns a data folder of this version, prepared with `initdb`.
fn made(binaries: &Path, user: User) -> PathBuf {
    let version = user.run(text(&binaries.join("postgres")), &["--version"]);
    let version: String = version
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    template(&format!("postgres-{version}"), user, |data| {
        let password = text(data).to_owned() + ".password";
        let script = format!("umask 077; printf '%s' '{PASSWORD}' > '{password}'");
        user.run("sh", &["-c", &script]);
        let file = format!("--pwfile={password}");
        let mut arguments = vec!["-D", text(data), "-U", OWNER, "-E", "UTF8", "--locale=C"];
        arguments.extend(["--auth-local=trust", "--auth-host=password", &file]);
        arguments.extend(["--wal-segsize=1", "--no-sync"]);
        user.run(text(&binaries.join("initdb")), &arguments);
        user.run("rm", &["-f", &password]);
    })
}

/// The contents of TLS files.
struct TlsFiles<'a> {
    certificate: &'a str,
    key: &'a str,
    clients: Option<&'a str>,
}

/// Writes the TLS files and requires SCRAM. With a client authority, it also requires client
/// certificates.
fn given(user: User, data: &Path, files: &TlsFiles<'_>) {
    let script = "umask 077; cd \"$1\"; printf '%s' \"$2\" > server.crt; printf '%s' \"$3\" > server.key; \
                  printf '%s' \"$4\" > clients.crt; sed -i \"$5\" pg_hba.conf";
    let rules = match files.clients {
        None => "s/password$/scram-sha-256/",
        Some(_) => "s/^host \\(.*\\)password$/hostssl \\1scram-sha-256 clientcert=verify-ca/",
    };
    let clients = files.clients.unwrap_or_default();
    let arguments = [
        "-c",
        script,
        "sh",
        text(data),
        files.certificate,
        files.key,
        clients,
        rules,
    ];
    user.run("sh", &arguments);
}

/// Creates a key and a self-signed certificate, and requires SCRAM, which supports channel binding
/// to the certificate.
fn certificate(user: User, data: &Path) {
    let (key, certificate) = (data.join("server.key"), data.join("server.crt"));
    let mut arguments = vec!["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"];
    arguments.extend(["-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    arguments.extend(["-subj", "/CN=localhost"]);
    arguments.extend(["-addext", "subjectAltName=DNS:localhost"]);
    arguments.extend(["-addext", "basicConstraints=critical,CA:FALSE"]);
    arguments.extend(["-keyout", text(&key), "-out", text(&certificate)]);
    user.run("openssl", &arguments);
    user.run("chmod", &["600", text(&key)]);
    let rules = text(data).to_owned() + "/pg_hba.conf";
    let script = format!("sed -i 's/password$/scram-sha-256/' '{rules}'");
    user.run("sh", &["-c", &script]);
}

/// Returns whether the server wrote `ready` to its file, which it does when it accepts connections.
fn is_ready(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("data/postmaster.pid"))
        .is_ok_and(|text| text.lines().any(|line| line.trim() == "ready"))
}
