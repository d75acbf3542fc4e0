//! A temporary folder for the files of a case.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::case::{Case, File};

/// Removed when dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Writes the files of a case to an empty folder.
    pub(super) fn of(case: &Case) -> Result<Self, String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quillet-case-{}-{count}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        for (name, file) in &case.files {
            write(&folder.0.join(name), file).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

fn write(path: &Path, file: &File) -> Result<(), String> {
    let bytes = match file {
        File::Text(text) => text.clone().into_bytes(),
        File::Lines(lines) => lines
            .iter()
            .flat_map(|line| [line, "\n"].concat().into_bytes())
            .collect(),
        File::Bytes { base64 } => STANDARD.decode(base64).map_err(|error| error.to_string())?,
    };
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    std::fs::write(path, bytes).map_err(|error| error.to_string())
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
