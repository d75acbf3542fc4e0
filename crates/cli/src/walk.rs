//! Files below the folders that commands are given.

use std::fs;
use std::path::{Path, PathBuf};

/// How deep folders are searched.
const MOST_DEPTH: usize = 16;

/// Everything below a folder that is no folder, sorted; nothing of what is hidden, linked or
/// installed there.
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
        let is_meant = !path.is_symlink() && !name.starts_with('.') && name != "node_modules";
        if is_meant && depth < MOST_DEPTH {
            descend(&path, found, depth + 1);
        }
    }
}

/// What is in a folder, sorted; nothing where it cannot be read.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
