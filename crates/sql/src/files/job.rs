//! The state of one load: limits, cancellation and progress.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quillet_core::ErrorCode;
use tokio::sync::mpsc::UnboundedSender;

use super::{FileError, FileOptions};

/// Number of rows between two checks for cancellation.
const STEP: u64 = 1_024;

/// State shared by the files of one load.
#[derive(Debug)]
pub(super) struct LoadJob {
    pub(super) options: FileOptions,
    /// Notes for the user about how files were interpreted.
    pub(super) notes: Vec<String>,
    stop: Arc<AtomicBool>,
    told: UnboundedSender<(u64, u64)>,
    rows: u64,
    bytes: u64,
    /// Bytes to read in total: all files, each read twice.
    pub(super) total: u64,
    pub(super) before: u64,
}

impl LoadJob {
    pub(super) fn new(
        options: FileOptions,
        stop: Arc<AtomicBool>,
        told: UnboundedSender<(u64, u64)>,
    ) -> Self {
        LoadJob {
            options,
            notes: Vec::new(),
            stop,
            told,
            rows: 0,
            bytes: 0,
            total: 0,
            before: 0,
        }
    }

    /// Reports a row: `row` is its number, `at` the number of bytes read from the file.
    ///
    /// # Errors
    /// Fails if the load was cancelled.
    pub(super) fn report_row(&mut self, path: &Path, row: u64, at: u64) -> Result<(), FileError> {
        if !row.is_multiple_of(STEP) {
            return Ok(());
        }
        // If the caller dropped its future, the receiver no longer exists.
        let _ = self.told.send((self.before + at, self.total));
        self.check_cancelled(path)
    }

    /// # Errors
    /// Fails if the load was cancelled.
    pub(super) fn check_cancelled(&self, path: &Path) -> Result<(), FileError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(FileError::new(
                ErrorCode::FileStopped,
                path,
                "loading was cancelled",
            ));
        }
        Ok(())
    }

    /// Counts a stored row and the bytes of its values.
    ///
    /// # Errors
    /// Fails if a limit of the settings is exceeded.
    pub(super) fn count(&mut self, path: &Path, bytes: usize) -> Result<(), FileError> {
        self.rows += 1;
        self.bytes += bytes as u64;
        if self.rows > self.options.rows {
            return Err(self.too_many_rows(path));
        }
        if self.bytes > self.options.bytes {
            return Err(self.too_many_bytes(path));
        }
        Ok(())
    }

    pub(super) fn too_many_rows(&self, path: &Path) -> FileError {
        let message = format!("more than {} rows (sql.file_rows)", self.options.rows);
        FileError::new(ErrorCode::FileLimit, path, message)
            .help("raise sql.file_rows, or load only part of the file")
    }

    pub(super) fn too_many_bytes(&self, path: &Path) -> FileError {
        let message = format!("more than {} bytes (sql.file_bytes)", self.options.bytes);
        FileError::new(ErrorCode::FileLimit, path, message)
            .help("raise sql.file_bytes, or load only part of the file")
    }

    pub(super) fn too_long_row(&self, path: &Path, line: u64) -> FileError {
        let message = format!(
            "a row of more than {} bytes (sql.file_row_bytes)",
            self.options.row_bytes
        );
        FileError::new(ErrorCode::FileLimit, path, message).at(line)
    }

    pub(super) fn note(&mut self, path: &Path, note: &str) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.notes.push(format!("{name}: {note}"));
    }
}

/// Returns the error of a file that cannot be read.
pub(super) fn read_error(path: &Path, error: &std::io::Error) -> FileError {
    FileError::new(ErrorCode::FileRead, path, error.to_string())
}

/// Returns the error of a database that cannot be written.
pub(super) fn write_error(database: &Path, error: &rusqlite::Error) -> FileError {
    FileError::new(ErrorCode::FileRoom, database, error.to_string()).help(
        "data files are loaded into the temporary folder; set TMPDIR to a folder with free space",
    )
}
