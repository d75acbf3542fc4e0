//! SQLite files: one connection on its own thread, and the stores that use it.
//!
//! A file may hold definitions, sessions, knowledge and traces side by side; each
//! of them opens it for itself, and several processes may too (write-ahead log).

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

/// How long a write waits for another connection, of this or another process. This is also the
/// default of rusqlite; it is set explicitly so that an update of the library cannot change it.
const BUSY: Duration = Duration::from_secs(5);

/// Between two tries to begin a connection.
const PAUSE: Duration = Duration::from_millis(5);

/// Statements that every connection begins with. A commit survives the end of the
/// process; only the last ones may be lost when the machine stops. What the file
/// itself may make SQLite do is kept small, for it may be somebody else's.
const SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;";

/// Why some work was not done.
#[derive(Debug)]
pub(crate) enum JobError {
    /// The file could not do it.
    Failed(rusqlite::Error),
    /// The work itself would not.
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

/// A connection to a file. Jobs run one after the other; what is still waiting is
/// done before the value is gone.
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
    /// Opens or makes the file, and in it the tables of one part.
    ///
    /// # Errors
    /// `Configuration` for a place where no file can be, `Corrupt` for a file that
    /// is none of SQLite's, or that a newer version has written.
    pub(crate) async fn open(path: &Path, part: &'static SchemaModule) -> Result<Self, StoreError> {
        let name: Arc<str> = path.display().to_string().into();
        // A thread of its own and not `spawn_blocking`: SQLite is fastest on one connection, and a
        // slow query must not use up the runtime's blocking threads.
        let (jobs, waiting) = mpsc::channel::<ConnectionJob>();
        let (opened, answer) = oneshot::channel();
        let place = path.to_owned();
        let work = move || {
            let connection = match ForkSafeConnection::open(|| connect(&place, part)) {
                Ok(connection) => connection,
                // The receiver is gone if `open` was cancelled; the thread ends either way.
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

    /// Where the file is.
    pub(crate) fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// Makes the tables of one more part in the file.
    ///
    /// # Errors
    /// `Configuration` for a part that a newer version has written.
    pub(crate) async fn add_schema(&self, part: &'static SchemaModule) -> Result<(), StoreError> {
        let path = self.path.clone();
        self.run(move |file| Ok(part.prepare(&path, file))).await?
    }

    /// Does some work on the connection. If the future is dropped before the work
    /// has begun, it is not done.
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

    /// Does some work all or not at all, and alone among all writers.
    pub(crate) async fn change<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.run(move |connection| {
            // Immediate: a transaction that reads first and writes later fails where another
            // process has written in between.
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&change)?;
            change.commit()?;
            Ok(result)
        })
        .await
    }

    /// As [`Database::change`] for work that may refuse: what it has done until then is undone.
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

    /// Leaves some work to be done. Never waits.
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
    // Created before SQLite opens it, because SQLite would create it readable for the group and
    // others.
    make(path);
    // Without SQLITE_OPEN_URI: a path is a path, whatever it begins with. Without SQLite's own
    // lock: one thread has the connection.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(wrong)?;
    connection.busy_timeout(BUSY).map_err(wrong)?;
    apply_settings(&connection).map_err(wrong)?;
    part.prepare(&name, &mut connection)?;
    Ok(connection)
}

/// Begins a connection. Of several that turn a new file to WAL at once SQLite refuses all but one as
/// busy, without the wait that every other statement has.
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

/// Makes a file that is not there yet for its owner only: conversations are private.
/// What goes wrong here, SQLite will say.
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
            // It has ended in a panic, or in good order: it is gone either way.
            let _ = thread.join();
        }
    }
}
