//! Which files prompt files have referred to while they were read.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value as Tree;

use crate::file::{AccessError, EnvironmentProvider, FileEnvironment};

/// The paths of files that were asked for.
#[derive(Debug, Default)]
pub(crate) struct ReferencedFiles(RefCell<BTreeSet<PathBuf>>);

impl ReferencedFiles {
    /// What a file in that folder may ask for, under watch.
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

    /// In order.
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
        // Recorded before it is read: a file that is missing may be added later.
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
