//! Files next to the output while a batch runs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::failure::CliError;

/// Paths of the files next to the output.
#[derive(Debug)]
pub(super) struct OutputFiles {
    pub(super) queue: PathBuf,
    pub(super) errors: PathBuf,
}

impl OutputFiles {
    pub(super) fn of(output: &Path) -> Self {
        OutputFiles {
            queue: with_suffix(output, ".queue"),
            errors: with_suffix(output, ".errors"),
        }
    }

    /// Locks the queue until this process ends, even if it crashes.
    pub(super) fn lock(&self) -> Result<File, CliError> {
        let path = with_suffix(&self.queue, ".lock");
        let wrong = |error: &dyn std::fmt::Display| {
            CliError::Usage(format!("cannot write {}: {error}", path.display()))
        };
        let file = File::create(&path).map_err(|error| wrong(&error))?;
        // The operating system releases this lock even if the process is killed, unlike a lock
        // file.
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => Err(CliError::Usage(format!(
                "another `quillet batch` uses {}: wait until it ends, or choose another file with -o",
                self.queue.display()
            ))),
            Err(fs::TryLockError::Error(error)) => Err(wrong(&error)),
        }
    }

    pub(super) fn forget_queue(&self) {
        // SQLite leaves its write-ahead log and shared memory next to the database after a crash.
        for end in ["", "-wal", "-shm", ".lock"] {
            // Errors are ignored, because the output is complete and some of these files may not
            // exist.
            let _ = fs::remove_file(with_suffix(&self.queue, end));
        }
    }
}

pub(super) fn with_suffix(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
