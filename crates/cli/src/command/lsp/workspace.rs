//! Folders of the workspace, and the files in them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_script::editor::{EditorContext, Overlay};
use quillet_script::host::Tools;
use quillet_script::library::{BuiltinLibrary, Folders, LayeredLibrary, Library};
use quillet_script::syntax::Script;

use super::documents::{DocumentKind, OpenDocument};

/// Maximum number of cached libraries, one for each folder with an open document.
const MOST_KEPT: usize = 64;

/// State shared by all documents.
#[derive(Debug)]
pub(super) struct Workspace {
    /// Folders of the editor and of the search path.
    roots: Vec<PathBuf>,
    tools: Arc<dyn Tools>,
    kept: HashMap<PathBuf, Arc<dyn Library>>,
}

/// A document and its environment at the time of a request.
#[derive(Clone, Debug)]
pub(super) struct DocumentSnapshot {
    pub(super) open: OpenDocument,
    others: Vec<OpenDocument>,
    below: Arc<dyn Library>,
    tools: Arc<dyn Tools>,
}

impl Workspace {
    pub(super) fn new(search: Vec<PathBuf>, tools: Arc<dyn Tools>) -> Self {
        Workspace {
            roots: search,
            tools,
            kept: HashMap::new(),
        }
    }

    /// Adds a folder of the editor. A folder that does not exist is ignored.
    pub(super) fn add_root(&mut self, folder: PathBuf) {
        if folder.is_dir() && !self.roots.contains(&folder) {
            self.roots.push(folder);
        }
    }

    /// Clears the cached libraries after files were added or removed.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
    }

    pub(super) fn snapshot(
        &mut self,
        open: &OpenDocument,
        all: &HashMap<Arc<str>, OpenDocument>,
    ) -> DocumentSnapshot {
        let scripts = all
            .values()
            .filter(|other| other.kind == DocumentKind::Script);
        DocumentSnapshot {
            open: open.clone(),
            others: scripts.cloned().collect(),
            below: self.library(open.source.path.as_deref().and_then(Path::parent)),
            tools: self.tools.clone(),
        }
    }

    /// The document's own folder comes first, as for `quillet run`.
    fn library(&mut self, folder: Option<&Path>) -> Arc<dyn Library> {
        let key = folder.unwrap_or(Path::new("")).to_owned();
        if let Some(kept) = self.kept.get(&key) {
            return kept.clone();
        }
        let own = folder.filter(|folder| folder.is_dir()).map(Path::to_owned);
        let folders: Vec<PathBuf> = own.into_iter().chain(self.roots.iter().cloned()).collect();
        let mut layers: Vec<Arc<dyn Library>> = Vec::new();
        if let Ok(folders) = Folders::new(&folders) {
            layers.push(Arc::new(folders));
        }
        layers.push(Arc::new(BuiltinLibrary));
        let library: Arc<dyn Library> = Arc::new(LayeredLibrary::new(layers));
        // Removing all libraries is simpler than removing the oldest one, and those in use are
        // created again.
        if self.kept.len() >= MOST_KEPT {
            self.kept.clear();
        }
        self.kept.insert(key, library.clone());
        library
    }
}

impl DocumentSnapshot {
    /// Returns the library, with open scripts as they are in the editor.
    pub(super) fn overlay(&self) -> Overlay {
        let script = |open: &OpenDocument| -> Option<(PathBuf, Arc<Script>)> {
            Some((open.source.path.clone()?, open.document().script.clone()))
        };
        Overlay {
            below: self.below.clone(),
            open: self.others.iter().filter_map(script).collect(),
        }
    }

    pub(super) fn around<'a>(&'a self, library: &'a Overlay) -> EditorContext<'a> {
        EditorContext {
            library,
            tools: &*self.tools,
        }
    }
}
