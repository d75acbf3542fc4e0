//! Where a server is, how a connection to it is made, and how one is ended whose query
//! may still run.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quillet_core::lock::lock;

use futures_util::FutureExt;
use mysql_async::prelude::Queryable;
use mysql_async::{ClientIdentity, Conn, DriverError, Error, IoError, OptsBuilder, SslOpts};
use rustls::CertificateError;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::{error, roles};
use crate::connect_help::unknown_database_hint;
use crate::database::ConnectOptions;
use crate::tls;
use crate::{ConnectionUrl, DatabaseError, DatabaseErrorKind};

/// How long ending a query in the server may take: it needs a connection of its own.
const KILL_TIME: Duration = Duration::from_secs(5);
/// Packets below this size are always taken, whatever a query's own limit is.
const SMALLEST_PACKET_LIMIT: usize = 1 << 20;
/// What the address may set behind `?`.
const PARAMETERS: [&str; 6] = [
    "schemas", "socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode",
];

/// When TLS is used. The names are those of MySQL's own clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TlsMode {
    Disabled,
    /// Where the server has it, without asking who the server is.
    Preferred,
    /// Always, without asking who the server is.
    Required,
    /// Always, and its certificate is signed by an authority that we know, whatever its name.
    Authority,
    /// The same, and it has the server's name.
    Verified,
}

impl TlsMode {
    fn named(name: &str) -> Option<TlsMode> {
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "disabled" | "disable" | "off" | "false" => Some(TlsMode::Disabled),
            "preferred" | "prefer" => Some(TlsMode::Preferred),
            "required" | "require" | "on" | "true" => Some(TlsMode::Required),
            "verify-ca" => Some(TlsMode::Authority),
            "verify-identity" | "verify-full" => Some(TlsMode::Verified),
            _ => None,
        }
    }
}

/// A server and a database in it, nothing opened.
pub(super) struct MySqlServer {
    url: ConnectionUrl,
    tls: TlsMode,
    connect_timeout: Duration,
    powerful_roles: bool,
    /// When the role was last found to reach nothing outside.
    harmless: Mutex<Option<Instant>>,
    /// The server has no TLS and need not: known after the first connection, so that the next ones
    /// do not try in vain.
    is_plain: AtomicBool,
    /// A name of the server's certificate, where its own need not be there.
    presented: Mutex<Option<String>>,
}

impl MySqlServer {
    pub(super) fn new(
        url: &ConnectionUrl,
        options: &ConnectOptions,
    ) -> Result<Arc<Self>, DatabaseError> {
        for (name, _) in &url.parameters {
            known_parameter(name)?;
        }
        let tls = match parameter(url, "ssl-mode") {
            _ if options.ssl_disabled => TlsMode::Disabled,
            None => TlsMode::Preferred,
            Some(name) => TlsMode::named(name).ok_or_else(|| {
                address_error(format!(
                    "unknown ssl-mode={name}: must be disabled, preferred, required, verify-ca or verify-identity"
                ))
            })?,
        };
        if tls != TlsMode::Disabled {
            check_files(url).map_err(address_error)?;
        }
        Ok(Arc::new(MySqlServer {
            url: url.clone(),
            tls,
            connect_timeout: options.connect_timeout,
            powerful_roles: options.powerful_roles,
            harmless: Mutex::new(None),
            is_plain: AtomicBool::new(false),
            presented: Mutex::new(None),
        }))
    }

    pub(super) fn url(&self) -> &ConnectionUrl {
        &self.url
    }

    /// The database of the address, then what `schemas=a,b` adds.
    pub(super) fn schemas(&self) -> Vec<String> {
        let mut schemas = vec![self.url.database.clone()];
        let more = parameter(&self.url, "schemas").unwrap_or_default();
        for name in more
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            if !schemas.iter().any(|known| known == name) {
                schemas.push(name.to_owned());
            }
        }
        schemas
    }

    /// A new connection that takes packets of at most `packet` bytes, which is what bounds the
    /// memory of one row.
    async fn connect(&self, packet: usize) -> Result<Conn, DatabaseError> {
        match timeout(self.connect_timeout, self.try_connect(packet)).await {
            Ok(Ok(conn)) => Ok(conn),
            Ok(Err(error)) => {
                let error = error::at_connect(&error, &self.url);
                if error.native_code.as_deref() == Some(error::NO_DATABASE) {
                    Err(self.with_nearest(error).await)
                } else {
                    Err(error)
                }
            }
            Err(_) => Err(self.timeout_error()),
        }
    }

    /// The error of a database that the server does not have, with the name of one that it has.
    async fn with_nearest(&self, error: DatabaseError) -> DatabaseError {
        let look = async {
            let tls = (self.tls != TlsMode::Disabled && !self.is_plain.load(Ordering::Relaxed))
                .then(|| self.tls_options());
            let options = self.options(0, tls).db_name(None::<String>);
            let mut conn = Conn::new(options).await.ok()?;
            let names: Vec<String> = conn.query("SHOW DATABASES").await.ok()?;
            // That the server does not hear of the end is no error here.
            let _ = conn.disconnect().await;
            let own = ["information_schema", "mysql", "performance_schema", "sys"];
            let names = names
                .into_iter()
                .filter(|name| !own.contains(&name.as_str()));
            Some(names.collect::<Vec<_>>())
        };
        let names = timeout(self.connect_timeout, look).await.ok().flatten();
        DatabaseError {
            hint: names.and_then(|names| unknown_database_hint(&self.url.database, &names)),
            ..error
        }
    }

    fn timeout_error(&self) -> DatabaseError {
        address_error(format!(
            "{} did not answer within {:?}",
            self.url, self.connect_timeout
        ))
    }

    async fn try_connect(&self, packet: usize) -> Result<Conn, Error> {
        let with_tls = self.tls != TlsMode::Disabled
            && parameter(&self.url, "socket").is_none()
            && !self.is_plain.load(Ordering::Relaxed);
        let without = self.options(packet, None);
        // No TLS over a Unix socket, which never leaves the machine.
        if !with_tls {
            return Conn::new(without).await;
        }
        let first = Conn::new(self.options(packet, Some(self.tls_options()))).await;
        let result = match &first {
            // Only `verify-ca`: with `verify-identity` another name is the error that must be
            // reported.
            Err(error) if self.tls == TlsMode::Authority => match presented_name(error) {
                Some(name) => {
                    *lock(&self.presented) = Some(name);
                    Conn::new(self.options(packet, Some(self.tls_options()))).await
                }
                None => first,
            },
            _ => first,
        };
        match result {
            Err(Error::Driver(DriverError::NoClientSslFlagFromServer))
                if self.tls == TlsMode::Preferred =>
            {
                self.is_plain.store(true, Ordering::Relaxed);
                Conn::new(without).await
            }
            result => result,
        }
    }

    fn options(&self, packet: usize, tls: Option<SslOpts>) -> OptsBuilder {
        let url = &self.url;
        // A packet limit, a waiting time and no socket: else the library asks the server for all
        // three.
        OptsBuilder::default()
            .ip_or_hostname(url.host.trim_start_matches('[').trim_end_matches(']'))
            .tcp_port(url.port)
            .socket(parameter(url, "socket"))
            .user(Some(&url.user).filter(|user| !user.is_empty()))
            .pass(url.password.as_deref())
            .db_name(Some(&url.database))
            .prefer_socket(false)
            .stmt_cache_size(0)
            .max_allowed_packet(Some(packet.max(SMALLEST_PACKET_LIMIT)))
            .wait_timeout(Some(28_800))
            .ssl_opts(tls)
    }

    fn tls_options(&self) -> SslOpts {
        // Which cryptography TLS uses is the process's choice; ours, if nobody chose.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let is_verified = matches!(self.tls, TlsMode::Authority | TlsMode::Verified);
        let file = |name| parameter(&self.url, name).map(std::path::PathBuf::from);
        let authority = file("ssl-ca");
        let identity = file("ssl-cert").zip(file("ssl-key"));
        let presented = lock(&self.presented);
        let presented = presented.clone();
        SslOpts::default()
            .with_client_identity(
                identity
                    .map(|(certificate, key)| ClientIdentity::new(certificate.into(), key.into())),
            )
            .with_danger_tls_hostname_override(presented)
            .with_disable_built_in_roots(authority.is_some())
            .with_root_certs(authority.into_iter().map(Into::into).collect())
            .with_danger_accept_invalid_certs(!is_verified)
    }

    /// Refuses roles that read and write files of the server or change it. What a role may do is
    /// asked for again after a minute.
    ///
    /// # Errors
    /// It is such a role, or its rights cannot be read.
    pub(super) async fn check_role(&self, conn: &mut Conn) -> Result<(), DatabaseError> {
        const AGE: Duration = Duration::from_secs(60);
        let known = *lock(&self.harmless);
        if self.powerful_roles || known.is_some_and(|at| at.elapsed() < AGE) {
            return Ok(());
        }
        let grants = conn.query("SHOW GRANTS").await;
        let grants: Vec<String> = grants.map_err(|error| error::of_query(&error, ""))?;
        let powers = roles::powers(&grants);
        if powers.is_empty() {
            *lock(&self.harmless) = Some(Instant::now());
            return Ok(());
        }
        let message = format!(
            "rejected role {:?}: it has {}, which reaches outside the database",
            self.url.user,
            powers.join(" and ")
        );
        Err(DatabaseError {
            hint: Some(
                "connect with a role that may only SELECT (quillet sql test prints how to create \
                 one), or set sql.powerful_roles"
                    .to_owned(),
            ),
            ..DatabaseError::new(DatabaseErrorKind::Role, message)
        })
    }

    /// Ends a connection in the server, its query with it. Fails silently: the server's own
    /// time limit is still there.
    async fn kill(&self, id: u32) {
        let ended = timeout(KILL_TIME, async {
            // A connection of its own: the protocol cannot interrupt a statement on the same one.
            let mut conn = self.connect(0).await.ok()?;
            conn.query_drop(format!("KILL {id}")).await.ok()
        });
        if ended.await.is_err() {
            tracing::warn!(database = %self.url, id, "cannot end a query in time");
        }
    }
}

/// What makes a connection one that only reads, whatever the server's own settings are. Quotes and
/// backslashes mean what they mean to the guard: no SQL mode but the server's own about GROUP BY. A
/// recursion ends by the time limit: MariaDB would silently cut it after 1,000 rounds, which is
/// less than three years of days. Whoever takes rows slowly has as long as the query: the server
/// would hang up after a minute. MariaDB skips comments for MySQL 5.7 and later, and MySQL those
/// for MariaDB.
fn settings(time: Duration) -> [String; 2] {
    let millis = time.as_millis().clamp(1, u128::from(u32::MAX));
    let seconds = time.as_secs_f64().clamp(0.001, 31_536_000.0);
    let wait = seconds.ceil();
    [
        format!(
            "SET NAMES utf8mb4, SESSION sql_mode = \
             IF(FIND_IN_SET('ONLY_FULL_GROUP_BY', @@sql_mode), 'ONLY_FULL_GROUP_BY', '') \
             /*M!100201 , SESSION max_statement_time = {seconds:.3}, \
             SESSION max_recursive_iterations = 4294967295 */, \
             SESSION net_write_timeout = {wait} \
             /*!50708 , SESSION max_execution_time = {millis} */"
        ),
        "SET SESSION TRANSACTION READ ONLY".to_owned(),
    ]
}

fn address_error(message: String) -> DatabaseError {
    DatabaseError::new(DatabaseErrorKind::Unreachable, message)
}

/// A setting of the address; `_` is as good as `-` in its name.
fn parameter<'a>(url: &'a ConnectionUrl, name: &str) -> Option<&'a str> {
    let mut found = url.parameters.iter();
    let found = found.find(|(key, _)| key.replace('_', "-") == name);
    found.map(|(_, value)| value.as_str())
}

/// Looks at the files of TLS before the library does, which names none of them.
///
/// # Errors
/// A sentence: one cannot be used.
fn check_files(url: &ConnectionUrl) -> Result<(), String> {
    let file = |name| parameter(url, name).map(Path::new);
    if let Some(authority) = file("ssl-ca") {
        tls::certificates("ssl-ca", authority)?;
    }
    match (file("ssl-cert"), file("ssl-key")) {
        (None, None) => Ok(()),
        (Some(certificate), Some(key)) => {
            tls::certificates("ssl-cert", certificate)?;
            tls::key("ssl-key", key).map(drop)
        }
        (Some(_), None) => {
            Err("missing ssl-key: the address has ssl-cert but no file of its key".to_owned())
        }
        (None, Some(_)) => Err(
            "missing ssl-cert: the address has ssl-key but no file of its certificate".to_owned(),
        ),
    }
}

/// A name of a certificate that is in order but for the name that was asked for. The library means
/// to leave names out of the check and does not find the error of this version of rustls; asked for
/// by a name that it has, the certificate is checked in all else.
fn presented_name(error: &Error) -> Option<String> {
    let Error::Io(IoError::Io(error)) = error else {
        return None;
    };
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
        presented,
        ..
    }) = error
    else {
        return None;
    };
    let name = presented.first()?;
    let (_, name) = name.split_once('(')?;
    let name = name.trim_end_matches(')').trim_matches('"');
    Some(name.replace('*', "any"))
}

fn known_parameter(name: &str) -> Result<(), DatabaseError> {
    let dashed = name.replace('_', "-");
    if PARAMETERS.contains(&dashed.as_str()) {
        return Ok(());
    }
    let known = PARAMETERS.join(", ");
    let near = quillet_core::nearest(&dashed, PARAMETERS);
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    Err(address_error(format!(
        "unknown setting {name:?} in a MySQL address; known settings are {known}{near}"
    )))
}

/// A connection for one piece of work. Unless [`MySqlSession::finished`] was said, dropping it closes
/// the connection at once and ends in the server what it was doing.
pub(super) struct MySqlSession {
    conn: Conn,
    server: Arc<MySqlServer>,
    is_running: bool,
}

impl MySqlSession {
    /// A new connection that only reads, takes packets of at most `packet` bytes, and whose
    /// statements the server ends after `time`.
    pub(super) async fn open(
        server: &Arc<MySqlServer>,
        packet: usize,
        time: Duration,
    ) -> Result<Self, DatabaseError> {
        let mut session = MySqlSession {
            conn: server.connect(packet).await?,
            server: Arc::clone(server),
            // Set before the first statement, so that dropping the future during the settings also
            // ends the connection.
            is_running: true,
        };
        let settings = async {
            for statement in settings(time) {
                session.conn.query_drop(statement).await?;
            }
            Ok(())
        };
        match timeout(server.connect_timeout, settings).await {
            Ok(Ok(())) => Ok(session),
            Ok(Err(error)) => Err(error::at_connect(&error, &server.url)),
            Err(_) => Err(server.timeout_error()),
        }
    }

    pub(super) fn conn(&mut self) -> &mut Conn {
        &mut self.conn
    }

    /// The server has nothing more to do for it: leaving is enough.
    pub(super) fn finished(mut self) {
        self.is_running = false;
    }

    /// Ends what runs, and waits until the server was told.
    pub(super) async fn end(mut self) {
        self.hang_up();
        self.server.kill(self.conn.id()).await;
        self.is_running = false;
    }

    /// Closes the socket instead of reading what is still to come, which the library does when a
    /// connection is dropped: an exchange that was begun and left makes it unusable.
    fn hang_up(&mut self) {
        // Polled once and dropped: the library then closes the socket instead of draining the
        // result.
        let _ = self.conn.ping().now_or_never();
    }
}

impl Drop for MySqlSession {
    fn drop(&mut self) {
        if !self.is_running {
            return;
        }
        self.hang_up();
        if let Ok(runtime) = Handle::try_current() {
            let (server, id) = (Arc::clone(&self.server), self.conn.id());
            runtime.spawn(async move { server.kill(id).await });
        }
    }
}
