//! Snapshots beside a fixture: `name.snapshots/SCRIPT.NUMBER.md`.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use quillet_script::testing::Snapshots;

use super::files::FixtureFile;

/// The snapshot folder of a fixture.
#[derive(Debug)]
pub(super) struct SnapshotFolder {
    folder: PathBuf,
    updates: bool,
}

impl SnapshotFolder {
    pub(super) fn new(found: &FixtureFile, updates: bool) -> Self {
        SnapshotFolder {
            folder: PathBuf::from(format!("{}.snapshots", found.stem())),
            updates,
        }
    }
}

impl Snapshots for SnapshotFolder {
    fn compare_or_write(&self, name: &str, text: &str) -> Result<Option<String>, String> {
        let path = self.folder.join(format!("{name}.md"));
        let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
        if self.updates {
            fs::create_dir_all(&self.folder).map_err(wrong)?;
            fs::write(&path, text).map_err(wrong)?;
            return Ok(Some(text.to_owned()));
        }
        match fs::read_to_string(&path) {
            Ok(kept) => Ok(Some(kept)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(wrong(error)),
        }
    }
}
