//! Which files prompt files have referred to while they were read.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value as Tree;

use crate::file::{Outside, Refusal, Surroundings};

/// The paths of files that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Referred(RefCell<BTreeSet<PathBuf>>);

impl Referred {
    /// What a file in that folder may ask for, under watch.
    pub(crate) fn watch<'a>(
        &'a self,
        folder: &'a Path,
        outside: &dyn Outside,
    ) -> impl Surroundings + 'a {
        Watched {
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

struct Watched<'a> {
    folder: &'a Path,
    around: Box<dyn Surroundings>,
    referred: &'a Referred,
}

impl Surroundings for Watched<'_> {
    fn variable(&self, name: &str) -> Result<Option<String>, Refusal> {
        self.around.variable(name)
    }

    fn file(&self, path: &str) -> Result<String, Refusal> {
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
