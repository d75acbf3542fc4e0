//! A folder of files that is gone when the test is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quillet_sql::database::ConnectOptions;
use quillet_sql::{ConnectionUrl, Database, connect};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A folder with one database in it.
pub(crate) struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    /// A new folder, and in it a database of what a text creates.
    pub(crate) fn with(sql: &str) -> Self {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quillet-sql-{}-{count}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        let connection = rusqlite::Connection::open(folder.file()).unwrap();
        connection.execute_batch(sql).unwrap();
        folder
    }

    /// The database's file.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("data.db")
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The database, as the crate opens it.
    pub(crate) fn database(&self) -> Arc<dyn Database> {
        open(&self.file())
    }
}

/// The database in a file.
pub(crate) fn open(path: &Path) -> Arc<dyn Database> {
    let url: ConnectionUrl = format!("sqlite:{}", path.display()).parse().unwrap();
    connect(&url, &ConnectOptions::default()).unwrap()
}
