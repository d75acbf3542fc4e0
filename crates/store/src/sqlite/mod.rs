//! SQLite files: a connection on a dedicated thread, and the stores that use it.
//!
//! A file may contain definitions, sessions, knowledge and traces. Each store opens a separate
//! connection, and several processes may do so as well (write-ahead log).

mod definitions;
mod error;
mod fork;
mod history;
mod schema;
mod versions;

use std::fmt;
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use quillet_core::store::StoreError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use tokio::sync::oneshot;

use fork::ForkSafeConnection;

pub use definitions::SqliteStore;
pub use fork::ForkGuard;
pub(crate) use schema::SchemaModule;

type ConnectionJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// How long a write waits for another connection of any process. This is also the default of
/// rusqlite; it is set explicitly so that an update of the library cannot change it.
const BUSY: Duration = Duration::from_secs(5);

/// Pause between attempts to initialize a connection.
const PAUSE: Duration = Duration::from_millis(5);

/// Initial statements of every connection. A commit survives the end of the process; only the last
/// commits may be lost if the machine stops. Features that a file can trigger are restricted,
/// because the file may be untrusted.
const SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;";

/// Reason why an operation failed.
#[derive(Debug)]
pub(crate) enum JobError {
    /// SQLite returned an error.
    Failed(rusqlite::Error),
    /// The operation itself refused.
    Refused(StoreError),
}

impl From<rusqlite::Error> for JobError {
    fn from(error: rusqlite::Error) -> Self {
        JobError::Failed(error)
    }
}

impl From<StoreError> for JobError {
    fn from(error: StoreError) -> Self {
        JobError::Refused(error)
    }
}

/// A connection to a file. Jobs run one at a time; queued jobs are completed before it is dropped.
pub(crate) struct Database {
    path: Arc<str>,
    jobs: Option<mpsc::Sender<ConnectionJob>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.path)
    }
}

impl Database {
    /// Opens or creates the file, and creates the tables of one module.
    ///
    /// # Errors
    /// `Configuration` for an invalid path or a file of a newer version; `Corrupt` for a file that
    /// is not an SQLite database.
    pub(crate) async fn open(path: &Path, part: &'static SchemaModule) -> Result<Self, StoreError> {
        let name: Arc<str> = path.display().to_string().into();
        // This is a dedicated thread instead of `spawn_blocking`: SQLite is fastest on one
        // connection, and a slow query must not use up the runtime's blocking threads.
        let (jobs, waiting) = mpsc::channel::<ConnectionJob>();
        let (opened, answer) = oneshot::channel();
        let place = path.to_owned();
        let work = move || {
            let connection = match ForkSafeConnection::open(|| connect(&place, part)) {
                Ok(connection) => connection,
                // Receiving fails if `open` was cancelled; the thread ends either way.
                Err(error) => return drop(opened.send(Err(error))),
            };
            if opened.send(Ok(())).is_ok() {
                while let Ok(job) = waiting.recv() {
                    connection.run(job);
                }
            }
        };
        let thread = thread::Builder::new()
            .name("sqlite".to_owned())
            .spawn(work)
            .map_err(|error| error::lost(&name, &error.to_string()))?;
        let database = Database {
            path: name,
            jobs: Some(jobs),
            thread: Some(thread),
        };
        answer
            .await
            .map_err(|_| error::lost(&database.path, "cannot open it"))??;
        Ok(database)
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// Creates the tables of another module in the file.
    ///
    /// # Errors
    /// `Configuration` for tables of a newer version.
    pub(crate) async fn add_schema(&self, part: &'static SchemaModule) -> Result<(), StoreError> {
        let path = self.path.clone();
        self.run(move |file| Ok(part.prepare(&path, file))).await?
    }

    /// Runs a job on the connection. If the future is dropped before the job has started, the job
    /// is skipped.
    pub(crate) async fn run<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        self.post(Box::new(move |connection| {
            // The caller was cancelled while the job was queued. A job that has started always
            // completes.
            if !sender.is_closed() {
                let _ = sender.send(work(connection));
            }
        }));
        match answer.await {
            Ok(result) => result.map_err(|error| error::of(&self.path, &error)),
            Err(_) => Err(error::lost(&self.path, "its connection has ended")),
        }
    }

    /// Runs a job in a transaction that excludes all other writers.
    pub(crate) async fn change<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.run(move |connection| {
            // The transaction is immediate, because a transaction that reads first and writes later
            // fails if another process has written in between.
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&change)?;
            change.commit()?;
            Ok(result)
        })
        .await
    }

    /// Like [`Database::change`], but for a job that may refuse; its changes are then rolled back.
    pub(crate) async fn attempt<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
    {
        self.run(move |connection| {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            match work(&change) {
                Ok(result) => change.commit().map(|()| Ok(result)),
                // Returning drops the transaction, which rolls it back.
                Err(JobError::Refused(error)) => Ok(Err(error)),
                Err(JobError::Failed(error)) => Err(error),
            }
        })
        .await?
    }

    /// Queues a job without waiting.
    pub(crate) fn post(&self, job: ConnectionJob) {
        if let Some(jobs) = &self.jobs {
            // The thread ends before this value only if a job has panicked.
            let _ = jobs.send(job);
        }
    }
}

fn connect(path: &Path, part: &SchemaModule) -> Result<Connection, StoreError> {
    let name = path.display().to_string();
    let wrong = |error| error::of(&name, &error);
    // The file is created before SQLite opens it, because SQLite would create it readable for the
    // group and others.
    make(path);
    // The flags do not contain SQLITE_OPEN_URI, so a path is never interpreted as a URI. SQLite's
    // own mutex is not needed, because only one thread uses the connection.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(wrong)?;
    connection.busy_timeout(BUSY).map_err(wrong)?;
    apply_settings(&connection).map_err(wrong)?;
    part.prepare(&name, &mut connection)?;
    Ok(connection)
}

/// Initializes a connection. If several connections switch a new file to WAL at the same time,
/// SQLite reports busy to all but one immediately, without the usual wait.
fn apply_settings(connection: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    loop {
        match connection.execute_batch(SETTINGS) {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && began.elapsed() < BUSY =>
            {
                thread::sleep(PAUSE);
            }
            settled => return settled,
        }
    }
}

/// Creates a missing file that only its owner can read, because conversations are private. Errors
/// are ignored here, because SQLite reports them.
fn make(path: &Path) {
    if path == Path::new(":memory:") {
        return;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    drop(options.open(path));
}

impl Drop for Database {
    fn drop(&mut self) {
        // Closing the channel lets the thread finish the queued jobs and end.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The thread has ended either way, even after a panic.
            let _ = thread.join();
        }
    }
}
