//! A connection for one unit of work. Settings, locks, temporary tables and running queries never
//! outlive it.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use quillet_core::lock::lock;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_postgres::error::DbError;
use tokio_postgres::{AsyncMessage, CancelToken, Client, SimpleQueryMessage};

use super::error;
use super::server::PostgresServer;
use super::socket::{ReadQuota, Socket};
use crate::connect_help::{unknown_database_hint, unreachable_hint};
use crate::{DatabaseError, DatabaseErrorKind as Kind};

/// Captures the first tree that the server prints on request.
#[derive(Clone, Debug, Default)]
pub(super) struct Trees(Arc<Mutex<TreeCapture>>);

#[derive(Debug, Default)]
enum TreeCapture {
    #[default]
    Off,
    Waiting,
    Captured(String),
}

impl Trees {
    /// Starts to capture.
    pub(super) fn begin(&self) {
        *self.lock() = TreeCapture::Waiting;
    }

    /// Stops capturing; returns the captured tree.
    pub(super) fn end(&self) -> Option<String> {
        match std::mem::take(&mut *self.lock()) {
            TreeCapture::Captured(tree) => Some(tree),
            TreeCapture::Off | TreeCapture::Waiting => None,
        }
    }

    fn record_notice(&self, notice: &DbError) {
        tracing::debug!(
            severity = notice.severity(),
            message = notice.message(),
            "notice of PostgreSQL"
        );
        let mut capture = self.lock();
        // Only the first tree belongs to the query.
        if matches!(*capture, TreeCapture::Waiting)
            && let Some(tree) = notice.detail().filter(|detail| detail.starts_with('{'))
        {
            *capture = TreeCapture::Captured(tree.to_owned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, TreeCapture> {
        lock(&self.0)
    }
}

/// Maximum bytes for connecting and describing a statement.
const GREETING: u64 = 1 << 20;

/// Timeout of a cancel request.
const CANCEL: Duration = Duration::from_secs(5);

/// Milliseconds to wait for the server after each cancel request.
const PAUSES: &[u64] = &[100, 200, 400, 800, 1_600, 3_200, 6_400];

/// A connection. Dropping it cancels its running statement on the server.
pub(super) struct PostgresSession {
    /// The library's client half, which sends statements.
    pub(super) client: Client,
    /// Number of bytes that may still be read.
    pub(super) meter: ReadQuota,
    /// Trees printed by the server.
    pub(super) trees: Trees,
    server: Arc<PostgresServer>,
    token: CancelToken,
    wire: Option<JoinHandle<()>>,
    runtime: Handle,
    is_working: bool,
}

impl PostgresSession {
    /// Connects and authenticates, within the server's connect timeout.
    pub(super) async fn open(server: &Arc<PostgresServer>) -> Result<Self, DatabaseError> {
        // The timeout includes TLS and authentication, because a server that accepts and then stays
        // silent must not block the caller.
        let time = server.connect_timeout;
        match tokio::time::timeout(time, Self::connect(server)).await {
            Ok(Err(error)) if error.native_code.as_deref() == Some(error::NO_DATABASE) => {
                Err(Self::with_nearest(server, error).await)
            }
            Ok(result) => result,
            Err(_) => Err(DatabaseError::new(
                Kind::Unreachable,
                format!("{} did not answer within {time:?}", server.shown),
            )),
        }
    }

    async fn connect(server: &Arc<PostgresServer>) -> Result<Self, DatabaseError> {
        let unreachable = |error: std::io::Error| {
            let message = format!("{} cannot be reached: {error}", server.shown);
            DatabaseError {
                hint: unreachable_hint(&error, "PostgreSQL", &server.host, server.port),
                ..DatabaseError::new(Kind::Unreachable, message)
            }
        };
        let meter = ReadQuota::new(GREETING);
        let socket = Socket::connect(&server.host, server.port, meter.clone())
            .await
            .map_err(unreachable)?;
        let connected = server.config.connect_raw(socket, server.tls.clone()).await;
        let (client, mut connection) =
            connected.map_err(|error| error::at_connect(&error, server))?;
        // The handle is stored for `Drop`, which may run on a thread without a runtime.
        let runtime = Handle::current();
        let trees = Trees::default();
        let listener = trees.clone();
        let wire = runtime.spawn(async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                match message {
                    Ok(AsyncMessage::Notice(notice)) => listener.record_notice(&notice),
                    Ok(_) => {}
                    // Callers that wait for a reply also get the error.
                    Err(error) => {
                        tracing::debug!(%error, "lost the connection to PostgreSQL");
                        return;
                    }
                }
            }
        });
        Ok(PostgresSession {
            token: client.cancel_token(),
            client,
            meter,
            trees,
            server: Arc::clone(server),
            wire: Some(wire),
            runtime,
            is_working: false,
        })
    }

    /// Adds the most similar existing database name to the error for an unknown database.
    async fn with_nearest(server: &Arc<PostgresServer>, error: DatabaseError) -> DatabaseError {
        let mut other = PostgresServer::clone(server);
        // Every server has this database, unless an administrator removed it.
        other.config.dbname("postgres");
        let look = async {
            let session = Self::connect(&Arc::new(other)).await.ok()?;
            let sql = "SELECT datname FROM pg_catalog.pg_database
                WHERE datallowconn AND NOT datistemplate ORDER BY datname";
            let rows = session.client.simple_query(sql).await.ok()?;
            let names = rows.iter().filter_map(|row| match row {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            });
            Some(names.collect::<Vec<_>>())
        };
        let names = tokio::time::timeout(server.connect_timeout, look).await;
        let name = server.config.get_dbname().unwrap_or_default();
        DatabaseError {
            hint: names
                .ok()
                .flatten()
                .and_then(|names| unknown_database_hint(name, &names)),
            ..error
        }
    }

    /// Returns the server of the connection.
    pub(super) fn server(&self) -> &PostgresServer {
        &self.server
    }

    /// Runs the driver's own statements, several at once. Never pass untrusted text.
    pub(super) async fn run(&mut self, own: &str) -> Result<(), DatabaseError> {
        // This is set before sending, because a dropped future may leave a statement running.
        self.is_working = true;
        let done = self.client.batch_execute(own).await;
        done.map_err(|error| error::of(&error))
    }

    /// Rolls back the transaction. The session is idle afterwards.
    pub(super) async fn roll_back(&mut self) -> Result<(), DatabaseError> {
        self.run("ROLLBACK").await?;
        self.is_working = false;
        Ok(())
    }

    /// Asks the server to cancel the running statement, and waits until the request is sent.
    pub(super) async fn cancel(&mut self) {
        cancel(&self.server, &self.token).await;
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        let Some(wire) = self.wire.take().filter(|_| self.is_working) else {
            // An idle connection closes cleanly when its client is dropped.
            return;
        };
        // `drop` cannot wait, so a separate task cancels the query.
        let (server, token) = (Arc::clone(&self.server), self.token.clone());
        self.runtime.spawn(end(server, token, wire));
    }
}

/// Sends cancel requests until the connection ends, which happens as soon as it is idle. One
/// request is not enough, because the server ignores a request that arrives just before the
/// statement.
async fn end(server: Arc<PostgresServer>, token: CancelToken, mut wire: JoinHandle<()>) {
    for pause in PAUSES {
        cancel(&server, &token).await;
        let pause = Duration::from_millis(*pause);
        if tokio::time::timeout(pause, &mut wire).await.is_ok() {
            return;
        }
    }
    // As a last resort, the server's own time limit ends the query.
    wire.abort();
}

/// Sends a cancel request over a second connection, as the protocol requires.
async fn cancel(server: &PostgresServer, token: &CancelToken) {
    let ask = async {
        let meter = ReadQuota::new(GREETING);
        let socket = Socket::connect(&server.host, server.port, meter)
            .await
            .ok()?;
        let asked = token.cancel_query_raw(socket, server.tls.clone()).await;
        asked.ok()
    };
    if tokio::time::timeout(CANCEL, ask)
        .await
        .ok()
        .flatten()
        .is_none()
    {
        tracing::debug!("cannot ask PostgreSQL to cancel a query");
    }
}
