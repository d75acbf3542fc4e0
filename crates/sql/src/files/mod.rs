//! Loads files of rows as a database: CSV, TSV, JSON Lines and Parquet.
//!
//! Each file becomes one table of a SQLite file in a private folder, which is removed with its
//! owner. The result is a database like any other: opened read-only and subject to the guard and
//! the limits of [`crate::database`]. Each file is read twice, first to infer types from *all*
//! values of a column, then to fill the table. Types therefore never depend on the first rows
//! alone, and at most one batch is in memory.
//!
//! Values are never changed. A value that SQLite's numbers cannot represent exactly (`007`,
//! `+49 170`, integers beyond 64 bits, more digits than a double has) makes its column text. Dates
//! remain ISO text. An empty CSV cell is NULL.

mod csv;
mod database;
mod error;
mod folder;
mod job;
mod json;
mod kind;
mod names;
mod options;
#[cfg(feature = "columnar")]
mod parquet;
#[cfg(not(feature = "columnar"))]
#[path = "parquet_disabled.rs"]
mod parquet;
mod table;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quillet_core::ErrorCode;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::database::ProgressFn;

pub use error::FileError;
use folder::PrivateFolder;
use job::LoadJob;
pub use options::{FileForm, FileOptions, Header};

/// Files that are loaded as a database. Dropping this value removes the database.
#[derive(Debug)]
pub struct LoadedFiles {
    folder: PrivateFolder,
    /// Notes on how the files were interpreted, one sentence each.
    pub notes: Vec<String>,
}

impl LoadedFiles {
    /// Returns the URL of the database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("sqlite:{}", self.folder.database().display())
    }
}

/// Loads files on a blocking thread. Each file becomes a table. If the future is dropped, the
/// thread stops soon and removes the files that it created.
///
/// # Errors
/// Fails if a file cannot be read or does not match its extension (the error includes the
/// position), if the files exceed the limits in `options`, or if the temporary folder is full.
pub async fn load(
    paths: &[PathBuf],
    options: &FileOptions,
    progress: ProgressFn<'_>,
) -> Result<LoadedFiles, FileError> {
    let folder = PrivateFolder::make()?;
    let stop = StopOnDrop::default();
    let (told, mut steps) = mpsc::unbounded_channel();
    let mut job = LoadJob::new(options.clone(), Arc::clone(&stop.0), told);
    let (database, files) = (folder.database(), paths.to_vec());
    let thread = spawn_blocking(move || {
        database::load(&mut job, &database, &files)?;
        Ok::<_, FileError>(job.notes)
    });
    let telling = async {
        while let Some((done, total)) = steps.recv().await {
            progress(done, total, "reading files");
        }
    };
    let (done, ()) = tokio::join!(thread, telling);
    let notes = match done {
        Ok(notes) => notes?,
        // The parsers read untrusted bytes and could panic.
        Err(_) => {
            let path = paths.first().map(PathBuf::as_path).unwrap_or(Path::new(""));
            return Err(FileError::new(ErrorCode::FileForm, path, "is damaged"));
        }
    };
    Ok(LoadedFiles { folder, notes })
}

/// Stops the thread when the future is dropped.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
