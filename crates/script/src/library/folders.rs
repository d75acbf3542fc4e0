//! Scripts in folders. Each file is opened relative to its root, with system support where
//! available, so that neither `..` nor a link can lead outside the root.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use quillet_core::BoxFuture;
use quillet_core::lock::lock;

use super::index::{self, ScriptIndex};
use super::name;
use super::{Library, read};
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::{Script, ScriptSource};

/// Maximum size of a script file in bytes.
pub const MAX_SCRIPT: u64 = 4 << 20;
/// Maximum size of a module or wasm file in bytes.
pub const MAX_FILE: u64 = 64 << 20;
/// Maximum number of scripts in the cache.
const MOST_KEPT: usize = 1_000;

/// Finds scripts in folders. A name is looked up in the folder of the script that uses the name,
/// and then in each root, in order. In a root, scripts are found first by path, then by file name
/// or `_id` in folders at most four levels deep.
///
/// The subfolders of a root are indexed once, when they are first searched.
#[derive(Clone, Debug)]
pub struct Folders {
    shelves: Arc<FolderCache>,
}

#[derive(Debug)]
struct FolderCache {
    roots: Vec<Root>,
    kept: Mutex<HashMap<PathBuf, CachedScript>>,
}

#[derive(Debug)]
struct Root {
    /// The path as the user wrote it, shown in messages.
    shown: PathBuf,
    /// The absolute path, used for `__filename`.
    path: PathBuf,
    dir: Dir,
    index: OnceLock<ScriptIndex>,
    ids: OnceLock<HashMap<String, String>>,
}

#[derive(Clone, Debug)]
struct CachedScript {
    modified: Option<SystemTime>,
    size: u64,
    script: Arc<Script>,
}

impl Folders {
    /// Creates a library of folders in order of precedence. Duplicate folders are ignored.
    ///
    /// # Errors
    /// A folder cannot be opened.
    pub fn new<P: AsRef<Path>>(folders: &[P]) -> Result<Self, ScriptError> {
        let mut roots: Vec<Root> = Vec::new();
        for folder in folders {
            let root = Root::open(folder.as_ref())?;
            if roots.iter().all(|known| known.path != root.path) {
                roots.push(root);
            }
        }
        let kept = Mutex::default();
        Ok(Folders {
            shelves: Arc::new(FolderCache { roots, kept }),
        })
    }

    /// Reads a file of the first root itself, with any extension.
    pub(super) fn in_first(&self, file: &Path) -> Result<Option<Arc<Script>>, ScriptError> {
        let name = file.file_name().and_then(|name| name.to_str());
        match (self.shelves.roots.first(), name) {
            (Some(root), Some(name)) => self.shelves.script(root, name),
            _ => Ok(None),
        }
    }
}

impl Library for Folders {
    fn find<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<Script>>, ScriptError>> {
        let (shelves, name, from) = (self.shelves.clone(), name.to_owned(), from.cloned());
        Box::pin(blocking(move || shelves.find(&name, from.as_ref())))
    }

    fn file<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, ScriptError>> {
        let (shelves, name, from) = (self.shelves.clone(), name.to_owned(), from.cloned());
        Box::pin(blocking(move || shelves.file(&name, from.as_ref())))
    }

    fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for root in &self.shelves.roots {
            ids.extend(root.index().stems().map(str::to_owned));
            ids.extend(root.ids().keys().cloned());
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// Runs file access on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ScriptError> + Send + 'static,
) -> Result<T, ScriptError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        let why = format!("the read was interrupted: {error}");
        Err(ScriptError::plain(ErrorKind::Aborted, "library", why))
    })
}

impl FolderCache {
    fn find(
        &self,
        name: &str,
        from: Option<&ScriptSource>,
    ) -> Result<Option<Arc<Script>>, ScriptError> {
        for (root, path) in self.places(name, from)? {
            for candidate in name::candidates(&path) {
                if let Some(script) = self.script(root, &candidate)? {
                    return Ok(Some(script));
                }
            }
        }
        if name.contains('/') {
            return Ok(None);
        }
        self.find_by_id(name)
    }

    /// Finds a script by file name or `_id` in the subfolders of the roots.
    fn find_by_id(&self, id: &str) -> Result<Option<Arc<Script>>, ScriptError> {
        let stem = name::stem(id).unwrap_or(id);
        for root in &self.roots {
            let path = root.index().by_stem(stem);
            let path = path.or_else(|| root.ids().get(id).map(String::as_str));
            if let Some(path) = path
                && let Some(script) = self.script(root, path)?
            {
                return Ok(Some(script));
            }
        }
        Ok(None)
    }

    fn file(
        &self,
        name: &str,
        from: Option<&ScriptSource>,
    ) -> Result<Option<Arc<[u8]>>, ScriptError> {
        for (root, path) in self.places(name, from)? {
            if let Some((file, metadata)) = root.open_file(&path)? {
                let shown = root.shown(&path);
                let bytes = read_file(file, &metadata, MAX_FILE, &shown)?;
                return Ok(Some(bytes.into()));
            }
        }
        Ok(None)
    }

    /// Returns the possible locations of a name in order: first in the script's own folder, then in
    /// the roots.
    ///
    /// # Errors
    /// All locations are outside the roots.
    fn places(
        &self,
        name: &str,
        from: Option<&ScriptSource>,
    ) -> Result<Vec<(&Root, String)>, ScriptError> {
        let refuse = |why| name::denied(name, from, why);
        name::check(name).map_err(refuse)?;
        let own = self.roots.iter().filter_map(|root| {
            let folder = root.folder_of(from?)?;
            Some((root, name::join(&folder, name)))
        });
        let every = self.roots.iter().map(|root| (root, name::join("", name)));
        // In a script, `./x` refers only to the script's own folder.
        let every = every.filter(|_| from.is_none() || !name::is_explicit(name));
        let mut places = Vec::new();
        let mut refusal = None;
        for (root, path) in own.chain(every) {
            match path {
                Ok(path) => places.push((root, path)),
                Err(why) => refusal = Some(why),
            }
        }
        match refusal {
            Some(why) if places.is_empty() => Err(refuse(why)),
            _ => Ok(places),
        }
    }

    fn script(&self, root: &Root, path: &str) -> Result<Option<Arc<Script>>, ScriptError> {
        let Some((file, metadata)) = root.open_file(path)? else {
            return Ok(None);
        };
        let full = root.path.join(path);
        let modified = metadata.modified().ok().map(|time| time.into_std());
        let size = metadata.len();
        if let Some(script) = self.cached_script(&full, modified, size) {
            return Ok(Some(script));
        }
        let shown = root.shown(path);
        let bytes = read_file(file, &metadata, MAX_SCRIPT, &shown)?;
        let script = read::script(shown, Some(full.clone()), bytes)?;
        self.keep(full, modified, size, &script);
        Ok(Some(script))
    }

    fn cached_script(
        &self,
        path: &Path,
        modified: Option<SystemTime>,
        size: u64,
    ) -> Option<Arc<Script>> {
        let kept = lock(&self.kept);
        let kept = kept.get(path)?;
        let is_same = kept.modified == modified && kept.size == size;
        is_same.then(|| kept.script.clone())
    }

    fn keep(&self, path: PathBuf, modified: Option<SystemTime>, size: u64, script: &Arc<Script>) {
        let mut kept = lock(&self.kept);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        let script = CachedScript {
            modified,
            size,
            script: script.clone(),
        };
        kept.insert(path, script);
    }
}

impl Root {
    fn open(shown: &Path) -> Result<Self, ScriptError> {
        let fail = |error: io::Error| {
            let why = format!("cannot open folder {shown:?}: {error}");
            ScriptError::plain(ErrorKind::NotFound, &shown.display().to_string(), why)
        };
        let path = shown.canonicalize().map_err(fail)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(fail)?;
        Ok(Root {
            shown: shown.to_owned(),
            path,
            dir,
            index: OnceLock::new(),
            ids: OnceLock::new(),
        })
    }

    fn index(&self) -> &ScriptIndex {
        self.index.get_or_init(|| ScriptIndex::of(&self.dir))
    }

    /// Returns the paths of scripts by the `_id` in their front matter.
    fn ids(&self) -> &HashMap<String, String> {
        self.ids.get_or_init(|| {
            let mut ids = HashMap::new();
            for path in &self.index().paths {
                if let Some(id) = index::declared_id(&self.dir, path) {
                    ids.entry(id).or_insert_with(|| path.clone());
                }
            }
            ids
        })
    }

    /// Returns the folder of a script relative to this root, or `None` if it is outside.
    fn folder_of(&self, source: &ScriptSource) -> Option<String> {
        let folder = source.path.as_ref()?.parent()?;
        let folder = folder.strip_prefix(&self.path).ok()?;
        folder.to_str().map(str::to_owned)
    }

    /// Returns a path as the user would write it.
    fn shown(&self, path: &str) -> String {
        let shown = self.shown.strip_prefix(".").unwrap_or(&self.shown);
        shown.join(path).display().to_string()
    }

    /// Opens a regular file, or returns `None` if there is none.
    fn open_file(&self, path: &str) -> Result<Option<(File, Metadata)>, ScriptError> {
        // Opening a pipe would block until another process writes to the pipe.
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        let opened = self.dir.open_with(path, &options);
        let opened = opened.and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        match opened {
            Ok((file, metadata)) => Ok(metadata.is_file().then_some((file, metadata))),
            Err(error) => self.not_opened(path, &error),
        }
    }

    fn not_opened<T>(&self, path: &str, error: &io::Error) -> Result<Option<T>, ScriptError> {
        use io::ErrorKind as Io;
        match error.kind() {
            Io::NotFound | Io::NotADirectory | Io::IsADirectory | Io::InvalidFilename => Ok(None),
            // The system returns this error for a link that leads outside the root.
            Io::PermissionDenied => {
                let why = format!(
                    "cannot read {path:?}: permission denied, or it is outside of \
                {:?}",
                    self.shown
                );
                Err(ScriptError::plain(
                    ErrorKind::Denied,
                    &self.shown(path),
                    why,
                ))
            }
            _ => {
                let why = format!("cannot read {path:?}: {error}");
                Err(ScriptError::plain(
                    ErrorKind::NotFound,
                    &self.shown(path),
                    why,
                ))
            }
        }
    }
}

fn read_file(
    file: File,
    metadata: &Metadata,
    most: u64,
    shown: &str,
) -> Result<Vec<u8>, ScriptError> {
    let too_long = || {
        let why = format!("{shown:?} exceeds {} MiB", most >> 20);
        ScriptError::plain(ErrorKind::Limit, shown, why)
    };
    if metadata.len() > most {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        let why = format!("cannot read {shown:?}: {error}");
        ScriptError::plain(ErrorKind::NotFound, shown, why)
    })?;
    if bytes.len() as u64 > most {
        return Err(too_long());
    }
    Ok(bytes)
}
