//! The private folder for a database of loaded files.
//!
//! Dropping the owner removes the folder. A killed process cannot do that, so each folder contains
//! a file that its process locks. When a process creates a folder, it removes all folders whose
//! file is not locked.

use std::fs::{self, DirBuilder, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use quillet_core::ErrorCode;

use super::FileError;

/// Prefix of the folder names.
const PREFIX: &str = "quillet-files-";
/// Name of the lock file, which marks the folder as in use.
const HELD: &str = "held";
/// Name of the lock file before it is locked.
const UNHELD: &str = "unheld";
/// Name of the database file.
const DATABASE: &str = "rows.db";

/// A folder that only the current user can read. Dropping it removes it with its content.
#[derive(Debug)]
pub(super) struct PrivateFolder {
    path: PathBuf,
    /// Locked while the folder is in use.
    _held: File,
}

impl PrivateFolder {
    /// Creates a folder in the directory for temporary files.
    ///
    /// # Errors
    /// Fails if the directory is not writable.
    pub(super) fn make() -> Result<PrivateFolder, FileError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let parent = std::env::temp_dir();
        sweep(&parent);
        let name = format!(
            "{PREFIX}{}-{:x}-{}",
            std::process::id(),
            quillet_core::clock::since_epoch().as_nanos(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = parent.join(name);
        let wrong = |error: std::io::Error| {
            FileError::new(ErrorCode::FileRoom, &path, format!("cannot be created: {error}")).help(
                "data files are loaded into the temporary folder; set TMPDIR to a folder with free space",
            )
        };
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(wrong)?;
        // The final name means that the file is locked, so the file gets this name only after it is
        // locked.
        let (new, named) = (path.join(UNHELD), path.join(HELD));
        // The file is created under another name, locked, then renamed. A sweeper never sees an
        // unlocked `held` file of a live process.
        let held = File::create_new(&new).and_then(|file| {
            // If a file system does not support locks, other processes cannot remove the folder
            // either.
            let _ = file.try_lock();
            fs::rename(&new, &named).map(|()| file)
        });
        match held {
            Ok(held) => Ok(PrivateFolder { path, _held: held }),
            Err(error) => {
                let _ = fs::remove_dir_all(&path);
                Err(wrong(error))
            }
        }
    }

    /// Returns the path of the database file, which does not exist yet.
    pub(super) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // The folder may already be removed, so errors are ignored.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes folders that killed processes left behind. A folder without a lock file is retained,
/// because its owner may be about to create that file.
fn sweep(parent: &Path) {
    let Ok(found) = fs::read_dir(parent) else {
        return;
    };
    for entry in found.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let held = entry.path().join(HELD);
        // Only a regular file can belong to Quillet, and opening a named pipe would block.
        if !fs::symlink_metadata(&held).is_ok_and(|found| found.is_file()) {
            continue;
        }
        let Ok(held) = File::open(held) else {
            continue;
        };
        if held.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_with_their_owner_and_those_of_the_dead_with_the_next() {
        let folder = PrivateFolder::make().unwrap();
        let path = folder.path.clone();
        fs::write(folder.database(), "x").unwrap();
        let left = std::env::temp_dir().join(format!("{PREFIX}0-left-{}", std::process::id()));
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join(HELD), "").unwrap();
        let other = PrivateFolder::make().unwrap();
        assert!(path.exists(), "a folder that is wanted stays");
        assert!(!left.exists(), "one that nobody holds goes");
        drop((folder, other));
        assert!(!path.exists());
    }
}
