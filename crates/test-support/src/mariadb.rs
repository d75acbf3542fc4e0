//! A real MariaDB server for tests.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::supervised::{ChildServer, folder, free_port};
use crate::template::{template, text};
use crate::user::User;

/// The name of the administrator.
const OWNER: &str = "root";
/// The password of every role, required for TCP connections (`mysql_native_password`).
const PASSWORD: &str = "s3cret/of:all";
/// The password, percent-encoded for a URL.
const ENCODED: &str = "s3cret%2Fof%3Aall";
/// The initial database.
const DATABASE: &str = "test";

/// Settings that trade durability for speed, because tests do not need the data after a crash.
const SETTINGS: &[&str] = &[
    "innodb-flush-log-at-trx-commit=0",
    "innodb-flush-method=nosync",
    "innodb-doublewrite=0",
    "innodb-buffer-pool-size=32M",
    "innodb-buffer-pool-dump-at-shutdown=0",
    "innodb-log-file-size=8M",
    "skip-log-bin",
    "skip-name-resolve",
    "character-set-server=utf8mb4",
    "max-connections=60",
    "local-infile=1",
    // The server may write files wherever its user may, so that tests can check that the guard
    // rejects such queries.
    "secure-file-priv=",
];

/// A MariaDB server, stopped and removed on drop.
#[derive(Debug)]
pub struct MariaDb {
    server: ChildServer,
    client: PathBuf,
    folder: PathBuf,
    port: u16,
}

impl MariaDb {
    /// Starts a server with an empty database `test` and waits until it accepts connections.
    ///
    /// # Panics
    /// Panics if MariaDB is not installed or does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server like [`MariaDb::start`], and passes options to `mariadbd`. Write options
    /// without leading dashes, such as `sql-mode=ANSI_QUOTES`.
    ///
    /// # Panics
    /// Panics under the conditions of [`MariaDb::start`].
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Self {
        Self::started(settings, false)
    }

    /// Starts a server like [`MariaDb::start`], and enables TLS. The server uses a self-signed
    /// certificate for `localhost` ([`MariaDb::certificate`]).
    ///
    /// # Panics
    /// Panics under the conditions of [`MariaDb::start`], or if `openssl` is not installed.
    #[must_use]
    pub fn start_with_tls() -> Self {
        Self::started(&[], true)
    }

    /// Starts a server like [`MariaDb::start`], and enables TLS. The server uses the given
    /// certificate and key in PEM. Users that were created with `REQUIRE X509` must present a
    /// certificate from the authority in `clients`.
    ///
    /// # Panics
    /// Panics under the conditions of [`MariaDb::start`].
    #[must_use]
    pub fn start_with_certificate(certificate: &str, key: &str, clients: &str) -> Self {
        Self::started_with(&[], Some("clients.crt"), |user, folder| {
            let script = "umask 077; cd \"$1\"; printf '%s' \"$2\" > server.crt; \
                          printf '%s' \"$3\" > server.key; printf '%s' \"$4\" > clients.crt";
            let arguments = ["-c", script, "sh", text(folder), certificate, key, clients];
            user.run("sh", &arguments);
        })
    }

    fn started(settings: &[&str], tls: bool) -> Self {
        Self::started_with(settings, tls.then_some(""), |user, folder| {
            if tls {
                certificate(user, folder);
            }
        })
    }

    /// Starts the server. `tls` is the file of the client authority, or empty without one. `None`
    /// disables TLS.
    fn started_with(settings: &[&str], tls: Option<&str>, prepare: impl Fn(User, &Path)) -> Self {
        let (mariadbd, client) = (program("mariadbd"), program("mariadb"));
        let user = User::for_server("mysql");
        let made = made(&mariadbd, user);
        // Another process may use the port before the server does.
        let mut last = String::new();
        for _ in 0..5 {
            let folder = folder("mariadb-run", user);
            user.run("cp", &["-R", text(&made), text(&folder.join("data"))]);
            prepare(user, &folder);
            match Self::run(&mariadbd, user, &folder, settings, tls) {
                Ok((server, port)) => {
                    return MariaDb {
                        server,
                        client,
                        folder,
                        port,
                    };
                }
                Err(log) => last = log,
            }
        }
        panic!("MariaDB does not start:\n{last}");
    }

    fn run(
        mariadbd: &Path,
        user: User,
        folder: &Path,
        settings: &[&str],
        tls: Option<&str>,
    ) -> Result<(ChildServer, u16), String> {
        let port = free_port();
        let own = |name: &str, file: &str| format!("--{name}={}", text(&folder.join(file)));
        let mut options = vec![
            "--no-defaults".to_owned(),
            own("datadir", "data"),
            own("socket", "socket"),
            own("pid-file", "pid"),
            own("tmpdir", ""),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--port={port}"),
        ];
        if let Some(authority) = tls {
            options.extend([own("ssl-cert", "server.crt"), own("ssl-key", "server.key")]);
            options.extend((!authority.is_empty()).then(|| own("ssl-ca", authority)));
        }
        options.extend(SETTINGS.iter().chain(settings).map(|s| format!("--{s}")));
        let mut command = vec![text(mariadbd)];
        command.extend(options.iter().map(String::as_str));
        let server = ChildServer::start(user, folder.to_owned(), "KILL", &command);
        server.wait(is_ready)?;
        Ok((server, port))
    }

    /// Returns the URL of the database `test` for the administrator.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(OWNER, DATABASE)
    }

    /// Returns the URL of a database for a role.
    #[must_use]
    pub fn url_of(&self, role: &str, database: &str) -> String {
        let port = self.port;
        format!("mysql://{role}:{ENCODED}@127.0.0.1:{port}/{database}")
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

    /// Returns the path of the server's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Returns a folder that the server may write to. The folder is removed when the server is
    /// dropped.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the server's self-signed certificate, which exists only if TLS is
    /// enabled.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("server.crt")
    }

    /// Creates an empty database and returns its URL for the administrator.
    pub fn create_database(&self, name: &str) -> String {
        self.execute(&format!("CREATE DATABASE `{name}` CHARACTER SET utf8mb4"));
        self.url_of(OWNER, name)
    }

    /// Creates a role that may only log in, and returns its URL for the database `test`.
    pub fn create_role(&self, name: &str) -> String {
        self.execute(&format!(
            "CREATE USER '{name}'@'%' IDENTIFIED BY '{PASSWORD}'"
        ));
        self.url_of(name, DATABASE)
    }

    /// Runs a script in the database `test` as the administrator, with the `mariadb` client. The
    /// script may be a dump that contains DELIMITER commands and data.
    ///
    /// # Panics
    /// Panics if a statement fails.
    pub fn execute(&self, script: &str) {
        self.execute_in(DATABASE, script);
    }

    /// Runs a script in another database.
    ///
    /// # Panics
    /// Panics if a statement fails.
    pub fn execute_in(&self, database: &str, script: &str) {
        self.mariadb(database, script);
    }

    /// Runs a query as the administrator and returns the result. Columns are separated by tabs. The
    /// query bypasses the driver under test.
    ///
    /// # Panics
    /// Panics if the query fails.
    #[must_use]
    pub fn look(&self, database: &str, query: &str) -> String {
        self.mariadb(database, query).trim_end().to_owned()
    }

    /// Kills the server to simulate a crash. Dropping the server has the same effect.
    pub fn stop(&mut self) {
        self.server.stop();
    }

    fn mariadb(&self, database: &str, script: &str) -> String {
        let socket = format!("--socket={}", text(&self.socket()));
        let mut command = Command::new(&self.client);
        command
            .args(["--no-defaults", &socket, "--user", OWNER])
            .args(["--default-character-set=utf8mb4", "--batch"])
            .args(["--skip-column-names", "--database", database])
            .env("MYSQL_PWD", PASSWORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn();
        let mut child = child.unwrap_or_else(|error| panic!("mariadb does not start: {error}"));
        let input = child.stdin.take();
        let script = script.as_bytes().to_owned();
        // The client may write output before it has read its input.
        let writer = std::thread::spawn(move || input.map(|mut pipe| pipe.write_all(&script)));
        let output = child.wait_with_output();
        let output = output.unwrap_or_else(|error| panic!("mariadb broke off: {error}"));
        let _ = writer.join();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "mariadb in {database:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Returns the path of a MariaDB program, on the search path or in Debian's directory for servers.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/sbin".into());
    let mut programs = folders.into_iter().map(|folder| folder.join(name));
    programs.find(|file| file.is_file()).unwrap_or_else(|| {
        panic!("{name} is not installed; install it first: apt-get install mariadb-server")
    })
}

/// Returns a prepared data folder of this version, with the administrator's password and an empty
/// database.
fn made(mariadbd: &Path, user: User) -> PathBuf {
    let version = user.run(text(mariadbd), &["--no-defaults", "--version"]);
    let version: String = version
        .split_once("Ver ")
        .map_or("", |(_, rest)| rest)
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    template(&format!("mariadb-{version}"), user, |data| {
        let install = program("mariadb-install-db");
        let owned = |name: &str, value: &str| format!("--{name}={value}");
        let directory = owned("datadir", text(data));
        let mut arguments = vec!["--no-defaults", &directory, "--skip-test-db"];
        arguments.extend(["--skip-name-resolve", "--innodb-log-file-size=8M"]);
        arguments.push("--auth-root-authentication-method=normal");
        user.run(text(&install), &arguments);
        set_up(mariadbd, user, data);
    })
}

/// Sets the administrator's password for all hosts, in the server's bootstrap mode.
fn set_up(mariadbd: &Path, user: User, data: &Path) {
    let script = format!(
        "DELETE FROM mysql.global_priv WHERE User IN ('', 'root') AND Host <> 'localhost'; \
         FLUSH PRIVILEGES; \
         ALTER USER 'root'@'localhost' IDENTIFIED BY '{PASSWORD}'; \
         CREATE USER 'root'@'%' IDENTIFIED BY '{PASSWORD}'; \
         GRANT ALL PRIVILEGES ON *.* TO 'root'@'%' WITH GRANT OPTION; \
         DROP USER IF EXISTS ''@localhost; \
         CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4;"
    );
    let script = script.replace("; ", ";\n");
    let server = "printf '%s\\n' \"$3\" | \"$1\" --no-defaults --bootstrap --datadir=\"$2\" \
                  --innodb-log-file-size=8M --skip-log-bin 2>&1";
    let arguments = ["-c", server, "sh", text(mariadbd), text(data), &script];
    user.run("sh", &arguments);
}

/// Creates a key and a self-signed certificate.
fn certificate(user: User, folder: &Path) {
    let (key, certificate) = (folder.join("server.key"), folder.join("server.crt"));
    let mut arguments = vec!["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"];
    arguments.extend(["-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    arguments.extend(["-subj", "/CN=localhost"]);
    arguments.extend(["-addext", "subjectAltName=DNS:localhost"]);
    arguments.extend(["-addext", "basicConstraints=critical,CA:FALSE"]);
    arguments.extend(["-keyout", text(&key), "-out", text(&certificate)]);
    user.run("openssl", &arguments);
}

/// Returns whether the server wrote its process id, which it does when it accepts connections.
fn is_ready(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("pid")).is_ok_and(|text| text.ends_with('\n'))
}
