//! MariaDB.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::supervised::{ChildServer, folder, free_port};
use crate::template::{template, text};
use crate::user::User;

/// The administrator's name.
const OWNER: &str = "root";
/// The password of every role. Connections over TCP have to give it (`mysql_native_password`).
const PASSWORD: &str = "s3cret/of:all";
/// The same in an address.
const ENCODED: &str = "s3cret%2Fof%3Aall";
/// The database that is there from the start.
const DATABASE: &str = "test";

/// Settings that trade durability for speed: tests do not need the data after a crash.
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
    // Files may be written anywhere that the server's user may: what tests want to see refused.
    "secure-file-priv=",
];

/// A MariaDB server. Stops and is removed when it is dropped.
#[derive(Debug)]
pub struct MariaDb {
    server: ChildServer,
    client: PathBuf,
    folder: PathBuf,
    port: u16,
}

impl MariaDb {
    /// A server with an empty database `test`, ready for connections.
    ///
    /// # Panics
    /// MariaDB is not installed, or does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with settings as on `mariadbd`'s command line, without the dashes:
    /// `sql-mode=ANSI_QUOTES`.
    ///
    /// # Panics
    /// As [`MariaDb::start`].
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Self {
        Self::started(settings, false)
    }

    /// The same with TLS, under a certificate of its own making for `localhost`
    /// ([`MariaDb::certificate`]).
    ///
    /// # Panics
    /// As [`MariaDb::start`]; `openssl` is not installed.
    #[must_use]
    pub fn start_with_tls() -> Self {
        Self::started(&[], true)
    }

    /// The same with TLS under a certificate and a key that are given as PEM, and with the
    /// authority of the certificates that users with `REQUIRE X509` have to show.
    ///
    /// # Panics
    /// As [`MariaDb::start`].
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

    /// `tls` is the file of the authority of clients, empty for none; no TLS where `None`.
    fn started_with(settings: &[&str], tls: Option<&str>, prepare: impl Fn(User, &Path)) -> Self {
        let (mariadbd, client) = (program("mariadbd"), program("mariadb"));
        let user = User::for_server("mysql");
        let made = made(&mariadbd, user);
        // A port can be taken between finding and using it.
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

    /// Address of the database `test` for the administrator.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(OWNER, DATABASE)
    }

    /// Address of a database for a role.
    #[must_use]
    pub fn url_of(&self, role: &str, database: &str) -> String {
        let port = self.port;
        format!("mysql://{role}:{ENCODED}@127.0.0.1:{port}/{database}")
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The password of every role.
    #[must_use]
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// The server's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// A folder that the server may write to and that goes with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The server's certificate, which is its own authority. There only with TLS.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("server.crt")
    }

    /// Makes an empty database; its address for the administrator.
    pub fn create_database(&self, name: &str) -> String {
        self.execute(&format!("CREATE DATABASE `{name}` CHARACTER SET utf8mb4"));
        self.url_of(OWNER, name)
    }

    /// Makes a role that may log in and nothing else; its address in the database `test`.
    pub fn create_role(&self, name: &str) -> String {
        self.execute(&format!(
            "CREATE USER '{name}'@'%' IDENTIFIED BY '{PASSWORD}'"
        ));
        self.url_of(name, DATABASE)
    }

    /// Runs a script in the database `test`, as the administrator, through the `mariadb` client:
    /// dumps with DELIMITER and data are fine.
    ///
    /// # Panics
    /// The first statement that fails.
    pub fn execute(&self, script: &str) {
        self.execute_in(DATABASE, script);
    }

    /// The same in another database.
    ///
    /// # Panics
    /// The first statement that fails.
    pub fn execute_in(&self, database: &str, script: &str) {
        self.mariadb(database, script);
    }

    /// What a query gives to the administrator, columns parted by tabs: a look from outside at
    /// what a driver did.
    ///
    /// # Panics
    /// The query failed.
    #[must_use]
    pub fn look(&self, database: &str, query: &str) -> String {
        self.mariadb(database, query).trim_end().to_owned()
    }

    /// Stops the server as if it had crashed. Dropping it does the same.
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
        // The client may print before it has read everything.
        let writer = std::thread::spawn(move || input.map(|mut pipe| pipe.write_all(&script)));
        let output = child.wait_with_output();
        let output = output.unwrap_or_else(|error| panic!("mariadb broke off: {error}"));
        let _ = writer.join();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "mariadb in {database:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// A program of MariaDB: on the search path, or where Debian keeps servers.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/sbin".into());
    let mut programs = folders.into_iter().map(|folder| folder.join(name));
    programs.find(|file| file.is_file()).unwrap_or_else(|| {
        panic!("{name} is not installed; install it first: apt-get install mariadb-server")
    })
}

/// A data folder of this version, with the administrator's password and an empty database.
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

/// Gives the administrator a password from everywhere, in the server's own starting mode.
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

/// Makes a key and a certificate that vouches for itself.
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

/// The server writes its number once it takes connections.
fn is_ready(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("pid")).is_ok_and(|text| text.ends_with('\n'))
}
