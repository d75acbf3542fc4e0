//! A data folder that is created once and copied for each server. Creating one takes at least a
//! second, and each test has its own process.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::user::User;

/// Returns the folder `name` in the system's folder for temporary files. `make` fills it if it does
/// not exist. Processes that need it at the same time wait for the first.
pub(crate) fn template(name: &str, user: User, make: impl FnOnce(&Path)) -> PathBuf {
    let base = std::env::temp_dir();
    let folder = base.join(format!("quillet-{name}-{}", user.id));
    let lock = base.join(format!("quillet-{name}-{}.lock", user.id));
    let file = File::create(&lock);
    let file = file.unwrap_or_else(|error| panic!("{} cannot be written: {error}", lock.display()));
    file.lock()
        .unwrap_or_else(|error| panic!("{} cannot be locked: {error}", lock.display()));
    if !folder.exists() {
        let partial = base.join(format!("quillet-{name}-{}.partial", user.id));
        user.run("rm", &["-rf", text(&partial)]);
        make(&partial);
        user.run("mv", &[text(&partial), text(&folder)]);
    }
    folder
}

/// Returns a path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str()
        .unwrap_or_else(|| panic!("{} is not UTF-8", path.display()))
}
