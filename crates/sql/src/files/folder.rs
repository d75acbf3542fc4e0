//! The private folder of a database of files.
//!
//! It is removed when its owner is dropped. A killed process cannot do that, so each folder has a
//! file that its process keeps locked; a process that creates a folder removes those whose file is
//! not locked.

use std::fs::{self, DirBuilder, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use quillet_core::ErrorCode;

use super::FileError;

/// How the names of these folders begin.
const PREFIX: &str = "quillet-files-";
/// The file that says that somebody wants the folder.
const HELD: &str = "held";
/// The same before it is locked.
const UNHELD: &str = "unheld";
/// The database in it.
const DATABASE: &str = "rows.db";

/// A folder that only this user can read. Dropping it removes it and all that is in it.
#[derive(Debug)]
pub(super) struct PrivateFolder {
    path: PathBuf,
    /// Locked while the folder is wanted.
    _held: File,
}

impl PrivateFolder {
    /// Makes one among the temporary files.
    ///
    /// # Errors
    /// Nothing can be written there.
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
                "files are loaded into the folder for temporary files; set TMPDIR to one with free space",
            )
        };
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(wrong)?;
        // Its name says that it is locked: nobody finds it before it is.
        let (new, named) = (path.join(UNHELD), path.join(HELD));
        // Created under another name, locked, then renamed: a sweeper never sees an unlocked `held`
        // file of a live process.
        let held = File::create_new(&new).and_then(|file| {
            // Where files cannot be locked, nobody sweeps either.
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

    /// The file of the database, which is not made yet.
    pub(super) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // If somebody removed it before, no harm is done.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what processes left behind that were killed. A folder without the locked file is left
/// alone: its owner may be about to make it.
fn sweep(parent: &Path) {
    let Ok(found) = fs::read_dir(parent) else {
        return;
    };
    for entry in found.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let held = entry.path().join(HELD);
        // What is not a file is not ours; opening a pipe would wait.
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
