//! Forks of a process that has SQLite files open, as Python's `multiprocessing` makes them.
//!
//! A fork copies SQLite's process-wide mutexes and its table of file locks, but no threads and no
//! file locks. A mutex that another thread held is never unlocked in the child. The copied table
//! counts locks that only the parent has, so the child would use a file without locking it.
//! Therefore connections are idle during a fork, and the child closes the connections of its
//! parent before it opens one.

use std::fmt;
use std::sync::{Arc, Mutex, RwLock, RwLockWriteGuard};

use quillet_core::lock::{lock, read, write};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Read-locked while a connection works, write-locked by [`ForkGuard`].
static WORK: RwLock<()> = RwLock::new(());

/// The open connections and the id of the process that opened them. Only a thread that has
/// locked [`WORK`] locks it.
static OPEN: Mutex<(u32, Vec<SharedConnection>)> = Mutex::new((0, Vec::new()));

/// A connection, `None` once it is closed.
type SharedConnection = Arc<Mutex<Option<Connection>>>;

/// Guard during which all SQLite connections of the process are idle.
///
/// A process must acquire the guard before it forks, and drop it after the fork in both the parent
/// and the child. The child can then open SQLite files. The child must not use a store that the
/// parent opened.
pub struct ForkGuard(
    #[expect(dead_code, reason = "unlocks when dropped")] RwLockWriteGuard<'static, ()>,
);

impl ForkGuard {
    /// Waits until all connections are idle, and keeps them idle.
    #[must_use]
    pub fn acquire() -> Self {
        ForkGuard(write(&WORK))
    }
}

impl fmt::Debug for ForkGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForkGuard")
    }
}

/// A connection that is idle during forks. A child process closes its copy.
pub(super) struct ForkSafeConnection(SharedConnection);

impl ForkSafeConnection {
    /// Opens a connection, after those inherited from a parent process are closed.
    pub(super) fn open<E>(connect: impl FnOnce() -> Result<Connection, E>) -> Result<Self, E> {
        let _no_fork = read(&WORK);
        close_inherited();
        let connection = Arc::new(Mutex::new(Some(connect()?)));
        lock(&OPEN).1.push(connection.clone());
        Ok(ForkSafeConnection(connection))
    }

    /// Runs a job on the connection. Forks wait until it is done.
    pub(super) fn run(&self, job: impl FnOnce(&mut Connection)) {
        let _no_fork = read(&WORK);
        if let Some(connection) = &mut *lock(&self.0) {
            job(connection);
        }
    }
}

impl Drop for ForkSafeConnection {
    fn drop(&mut self) {
        let _no_fork = read(&WORK);
        lock(&OPEN).1.retain(|open| !Arc::ptr_eq(open, &self.0));
        lock(&self.0).take();
    }
}

/// Closes the connections that this process inherited from its parent.
fn close_inherited() {
    let mut open = lock(&OPEN);
    if open.0 == std::process::id() {
        return;
    }
    open.0 = std::process::id();
    for connection in open.1.drain(..).filter_map(|shared| lock(&shared).take()) {
        // The parent still uses the write-ahead log, so the child must not merge it into the file.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }
}
