//! Opens the script that a program was asked to run, and its library.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_core::{Diagnostic, nearest};

use super::{BuiltinLibrary, Folders, LayeredLibrary, Library, name};
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::Script;

/// A script, and the library that contains the scripts it uses.
#[derive(Clone, Debug)]
pub struct OpenedScript {
    /// The script.
    pub script: Arc<Script>,
    /// The script's own folder, the search path, and the built-in scripts.
    pub library: Arc<dyn Library>,
}

/// Opens the script that the argument of `quillet run` refers to. The argument is a script file,
/// whose extension is optional, the folder of a package, or an id. Ids are looked up in the search
/// path and then among the built-in scripts.
///
/// Fails if the script does not exist or is invalid, or if a folder cannot be opened. For an
/// unknown script, the error suggests the most similar id.
pub async fn open(what: &str, search: &[PathBuf]) -> Result<OpenedScript, ScriptError> {
    let file = file_of(Path::new(what)).map(linked);
    let own = file.as_deref().map(folder_of);
    let folders: Vec<PathBuf> = own.into_iter().chain(search.iter().cloned()).collect();
    let folders = Folders::new(&folders)?;
    let layers: Vec<Arc<dyn Library>> = vec![Arc::new(folders.clone()), Arc::new(BuiltinLibrary)];
    let library: Arc<dyn Library> = Arc::new(LayeredLibrary::new(layers));
    let script = match file {
        Some(file) => folders.in_first(&file)?,
        None => library.find(what, None).await?,
    };
    match script {
        Some(script) => Ok(OpenedScript { script, library }),
        None => Err(nothing(what, library.as_ref())),
    }
}

/// Returns the script file for a path, if it exists.
fn file_of(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let shown = path.to_str()?.trim_end_matches('/');
    let candidates = name::candidates(shown).into_iter().map(PathBuf::from);
    let mut named = candidates.chain(entry_of(path));
    named.find(|candidate| candidate.is_file())
}

/// Returns the entry files of a package in a folder such as `.`, whose path does not contain the
/// name.
fn entry_of(folder: &Path) -> Vec<PathBuf> {
    let full = folder.canonicalize().ok();
    let base = full.as_deref().and_then(Path::file_name);
    let Some(base) = base.and_then(|base| base.to_str()) else {
        return Vec::new();
    };
    let entries = name::EXTENSIONS
        .iter()
        .map(|extension| format!("{base}{extension}"));
    entries.map(|entry| folder.join(entry)).collect()
}

/// Resolves a link that the user chose to run, so that relative names start from the target file.
fn linked(file: PathBuf) -> PathBuf {
    if file.is_symlink() {
        file.canonicalize().unwrap_or(file)
    } else {
        file
    }
}

fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn nothing(what: &str, library: &dyn Library) -> ScriptError {
    let why = format!("unknown script {what:?}");
    let found = Diagnostic::error(ErrorKind::NotFound.code(), what, why);
    let ids = library.ids();
    let found = match nearest(what, ids.iter().map(String::as_str)) {
        Some(id) => found.help(format!("did you mean {id}?")),
        None => found.help("pass a file, a package folder, or an id and -I FOLDER"),
    };
    ScriptError::new(ErrorKind::NotFound, found)
}
