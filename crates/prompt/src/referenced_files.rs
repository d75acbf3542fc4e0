//! Records the files that prompt files refer to while they are parsed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value as Tree;

use crate::file::{AccessError, EnvironmentProvider, FileEnvironment};

/// Paths of the files that were requested.
#[derive(Debug, Default)]
pub(crate) struct ReferencedFiles(RefCell<BTreeSet<PathBuf>>);

impl ReferencedFiles {
    /// Wraps a folder's environment to record the requested files.
    pub(crate) fn watch<'a>(
        &'a self,
        folder: &'a Path,
        outside: &dyn EnvironmentProvider,
    ) -> impl FileEnvironment + 'a {
        TrackingEnvironment {
            folder,
            around: outside.around(folder),
            referred: self,
        }
    }

    /// Returns the paths in sorted order.
    pub(crate) fn paths(self) -> Vec<PathBuf> {
        self.0.into_inner().into_iter().collect()
    }
}

struct TrackingEnvironment<'a> {
    folder: &'a Path,
    around: Box<dyn FileEnvironment>,
    referred: &'a ReferencedFiles,
}

impl FileEnvironment for TrackingEnvironment<'_> {
    fn variable(&self, name: &str) -> Result<Option<String>, AccessError> {
        self.around.variable(name)
    }

    fn file(&self, path: &str) -> Result<String, AccessError> {
        // Recorded before it is read, because a missing file may be added later.
        self.referred.0.borrow_mut().insert(self.folder.join(path));
        self.around.file(path)
    }

    fn fills_connections(&self) -> bool {
        self.around.fills_connections()
    }

    fn schema(&self, name: &str) -> Option<Tree> {
        self.around.schema(name)
    }
}
