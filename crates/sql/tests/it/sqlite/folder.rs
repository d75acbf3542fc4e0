//! A temporary folder that is removed after the test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quillet_sql::database::ConnectOptions;
use quillet_sql::{ConnectionUrl, Database, connect};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A folder with one database.
pub(crate) struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    /// Creates a folder with a database from this SQL.
    pub(crate) fn with(sql: &str) -> Self {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quillet-sql-{}-{count}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        let connection = rusqlite::Connection::open(folder.file()).unwrap();
        connection.execute_batch(sql).unwrap();
        folder
    }

    /// Returns the path of the database.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("data.db")
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Opens the database with the crate.
    pub(crate) fn database(&self) -> Arc<dyn Database> {
        open(&self.file())
    }
}

/// Opens the database in a file.
pub(crate) fn open(path: &Path) -> Arc<dyn Database> {
    let url: ConnectionUrl = format!("sqlite:{}", path.display()).parse().unwrap();
    connect(&url, &ConnectOptions::default()).unwrap()
}
