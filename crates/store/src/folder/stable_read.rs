//! Waits for files that are being written.
//!
//! Unlike this store, editors and scripts seldom write to a temporary file and rename it. They
//! truncate the file and fill it, or move it away and create a new one. A concurrent reader would
//! find an empty, partial or missing definition, and would serve it and record it as a version.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::document::FOLDER_CONFIG;
use super::scan::FolderEntry;

/// Minimum age of a changed file before it is read.
pub(super) const SETTLE: Duration = Duration::from_millis(50);
/// Minimum age of an empty file, which is rarely intended.
const SETTLE_EMPTY: Duration = Duration::from_secs(1);
/// Maximum wait, after which the file is read as it is.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause between two checks.
const PAUSE: Duration = Duration::from_millis(10);

/// Repeats a read while the file is being written. Blocks the thread.
pub(super) fn read_stable<T, E>(
    mut read: impl FnMut() -> Result<T, E>,
    is_moving: impl Fn(&T) -> bool,
) -> Result<T, E> {
    let began = Instant::now();
    loop {
        let found = read()?;
        if began.elapsed() > PATIENCE || !is_moving(&found) {
            return Ok(found);
        }
        sleep(PAUSE);
    }
}

/// Whether a changed definition is likely to change again soon. Times in the future, from the clock
/// of another machine, are ignored.
pub(super) fn is_moving(before: Option<&FolderEntry>, now: Option<&FolderEntry>) -> bool {
    if before == now {
        return false;
    }
    match (before, now) {
        (_, Some(now)) => {
            let quiet = match now.entry.text.is_empty() {
                true => SETTLE_EMPTY,
                false => SETTLE,
            };
            let config = now.entry.companion.as_ref();
            let config = config.map(|_| now.path.with_file_name(FOLDER_CONFIG));
            is_fresh(&now.path, quiet) || config.is_some_and(|path| is_fresh(&path, quiet))
        }
        // The file is missing; removing a file modifies its folder.
        (Some(before), None) => before
            .path
            .parent()
            .is_some_and(|folder| is_fresh(folder, SETTLE)),
        (None, None) => false,
    }
}

fn is_fresh(path: &Path, quiet: Duration) -> bool {
    let written = fs::metadata(path).and_then(|about| about.modified());
    let age = written.map(|at| SystemTime::now().duration_since(at));
    matches!(age, Ok(Ok(age)) if age < quiet)
}
