//! Files of rows as a database: CSV, TSV, lines of JSON, Parquet.
//!
//! Each file becomes one table of an SQLite file in a folder of its own, which goes with the value
//! that owns it. From there on it is a database like any other: opened read-only, under the guard
//! and the limits of [`crate::database`]. A file is read twice: first to find what *all* values of
//! a column are, then into the table, so that a type never hangs on the first rows and no more of a
//! file is in memory than one batch.
//!
//! No value changes. What a number of SQLite would not give back exactly (`007`, `+49 170`, whole
//! numbers beyond 64 bits, more digits than a double has) makes its column text; dates stay ISO
//! texts. An empty cell of a CSV is NULL.

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

/// Files loaded as a database. Dropping it removes the database.
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

/// Loads files on a blocking thread, one table for each file. If the future is dropped, the thread
/// stops soon and leaves nothing behind.
///
/// # Errors
/// A file cannot be read or is not what its ending says, with its place; it has more than
/// `options` allow; or the folder of temporary files has no room.
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
        // The libraries that read file formats meet untrusted bytes.
        Err(_) => {
            let path = paths.first().map(PathBuf::as_path).unwrap_or(Path::new(""));
            return Err(FileError::new(ErrorCode::FileForm, path, "is damaged"));
        }
    };
    Ok(LoadedFiles { folder, notes })
}

/// Ends the thread when nobody waits for it any more.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
