//! Waits for files that somebody is writing.
//!
//! Editors and scripts seldom write as this store does, beside the place and with a rename. They
//! empty the file and fill it, or move it away and write a new one; whoever looks in between sees an
//! empty definition, half of one, or none, and would serve it and keep it as a version.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::document::FOLDER_CONFIG;
use super::scan::FolderEntry;

/// A file that changed is read when nobody has written it for this long.
pub(super) const SETTLE: Duration = Duration::from_millis(50);
/// The same for one that is empty now, which hardly anybody means.
const SETTLE_EMPTY: Duration = Duration::from_secs(1);
/// A file that does not come to rest is taken as it is after this.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Reads again for as long as what was read is being written. Blocks the thread.
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

/// Whether a definition that is not what it was is likely to change at once again. Times of another
/// machine's clock may lie in the future, and say nothing.
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
        // It went away, and a folder is written when a name in it goes.
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
