//! Connects to a server, and cancels queries that may still run on a connection.

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

/// Timeout for killing a query on the server, which needs a second connection.
const KILL_TIME: Duration = Duration::from_secs(5);
/// Packets below this size are always accepted, regardless of a query's own limit.
const SMALLEST_PACKET_LIMIT: usize = 1 << 20;
/// URL parameters that this driver accepts.
const PARAMETERS: [&str; 6] = [
    "schemas", "socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode",
];

/// TLS mode, with the names of MySQL's own clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TlsMode {
    Disabled,
    /// Uses TLS if the server supports it, without verifying the server.
    Preferred,
    /// Requires TLS, without verifying the server.
    Required,
    /// Requires TLS and a certificate from a trusted authority, for any host name.
    Authority,
    /// Requires TLS and a certificate from a trusted authority, for this host name.
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

/// A server and a database on it, before any connection.
pub(super) struct MySqlServer {
    url: ConnectionUrl,
    tls: TlsMode,
    connect_timeout: Duration,
    powerful_roles: bool,
    /// Time of the last check that found the role harmless.
    harmless: Mutex<Option<Instant>>,
    /// Whether the server lacks TLS and does not need it. Set after the first connection, to avoid
    /// useless attempts.
    is_plain: AtomicBool,
    /// A name from the server's certificate, for modes that ignore the host name.
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

    /// Returns the URL's database, followed by those of `schemas=a,b`.
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

    /// Opens a connection that accepts packets of at most `packet` bytes, which limits the memory
    /// of one row.
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

    /// Adds the most similar existing database name to the error for an unknown database.
    async fn with_nearest(&self, error: DatabaseError) -> DatabaseError {
        let look = async {
            let tls = (self.tls != TlsMode::Disabled && !self.is_plain.load(Ordering::Relaxed))
                .then(|| self.tls_options());
            let options = self.options(0, tls).db_name(None::<String>);
            let mut conn = Conn::new(options).await.ok()?;
            let names: Vec<String> = conn.query("SHOW DATABASES").await.ok()?;
            // The names are already read, so a failure to disconnect does not matter.
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
        // A Unix socket never leaves the machine, so TLS is not used over it.
        if !with_tls {
            return Conn::new(without).await;
        }
        let first = Conn::new(self.options(packet, Some(self.tls_options()))).await;
        let result = match &first {
            // A different name is accepted only in `verify-ca` mode; in `verify-identity` mode, it
            // is the error to report.
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
        // The packet limit, the idle timeout and the socket are set explicitly. Otherwise the
        // library would query the server for all three values.
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
        // The cryptography provider is a process-wide choice. This call has no effect if the
        // process has already chosen a provider.
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

    /// Rejects roles that read or write server files or change the server. Privileges are checked
    /// again after a minute.
    ///
    /// # Errors
    /// Fails for such a role, or if its privileges cannot be read.
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

    /// Kills a connection on the server together with its query. Failures are ignored, because the
    /// server's own time limit still applies.
    async fn kill(&self, id: u32) {
        let ended = timeout(KILL_TIME, async {
            // A second connection is needed, because the protocol cannot interrupt a statement on
            // the same one.
            let mut conn = self.connect(0).await.ok()?;
            conn.query_drop(format!("KILL {id}")).await.ok()
        });
        if ended.await.is_err() {
            tracing::warn!(database = %self.url, id, "cannot end a query in time");
        }
    }
}

/// Returns the settings that make a session read-only, regardless of the server's defaults. The SQL
/// mode keeps only the server's choice about GROUP BY, so that quotes and backslashes mean the same
/// as for the guard. Recursion is limited by time only: MariaDB would otherwise silently stop after
/// 1,000 rounds, less than three years of days. A slow reader gets as much time as the query,
/// because the server would otherwise disconnect after a minute. MariaDB ignores the comments for
/// MySQL 5.7 and later, and MySQL ignores those for MariaDB.
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

/// Returns a URL parameter; `_` and `-` in its name are equivalent.
fn parameter<'a>(url: &'a ConnectionUrl, name: &str) -> Option<&'a str> {
    let mut found = url.parameters.iter();
    let found = found.find(|(key, _)| key.replace('_', "-") == name);
    found.map(|(_, value)| value.as_str())
}

/// Checks the TLS files before the library reads them, because its errors do not name the file.
///
/// # Errors
/// Returns an error message if a file is unusable.
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

/// Returns a host name from a certificate that is valid except for the requested name. The
/// library's option to ignore names does not recognize this rustls version's error. Connecting
/// again with a name from the certificate verifies everything else.
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

/// A connection for one unit of work. Dropping it before [`MySqlSession::finished`] closes the
/// connection immediately and kills its query on the server.
pub(super) struct MySqlSession {
    conn: Conn,
    server: Arc<MySqlServer>,
    is_running: bool,
}

impl MySqlSession {
    /// Opens a read-only connection that accepts packets of at most `packet` bytes and whose
    /// statements the server stops after `time`.
    pub(super) async fn open(
        server: &Arc<MySqlServer>,
        packet: usize,
        time: Duration,
    ) -> Result<Self, DatabaseError> {
        let mut session = MySqlSession {
            conn: server.connect(packet).await?,
            server: Arc::clone(server),
            // This is set before the first statement, so that dropping the future during the setup
            // also kills the connection.
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

    /// Marks the work as finished on the server, so that closing the connection is enough.
    pub(super) fn finished(mut self) {
        self.is_running = false;
    }

    /// Kills the running query, and waits until the server has received the request.
    pub(super) async fn end(mut self) {
        self.hang_up();
        self.server.kill(self.conn.id()).await;
        self.is_running = false;
    }

    /// Closes the socket without reading the remaining result. The library would read it when the
    /// connection is dropped. An exchange that was started and abandoned makes the connection
    /// unusable, which prevents that.
    fn hang_up(&mut self) {
        // The future is polled once and dropped. The library then closes the socket instead of
        // draining the result.
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
