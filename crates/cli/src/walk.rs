//! Recursive listing of folders.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum depth of folders.
const MOST_DEPTH: usize = 16;

/// Returns all files below a folder, sorted; skips hidden folders, linked folders and
/// `node_modules`.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    descend(folder, &mut found, 0);
    found
}

fn descend(folder: &Path, found: &mut Vec<PathBuf>, depth: usize) {
    for path in entries(folder) {
        if !path.is_dir() {
            found.push(path);
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Links are skipped because they can form a loop.
        let is_meant = !path.is_symlink() && !name.starts_with('.') && name != "node_modules";
        if is_meant && depth < MOST_DEPTH {
            descend(&path, found, depth + 1);
        }
    }
}

/// Returns the entries of a folder, sorted; none if it cannot be read.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
