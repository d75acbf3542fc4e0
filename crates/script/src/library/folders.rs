//! Scripts in folders. Every file is opened relative to its root, by the system where it can:
//! neither `..` nor a link leads out.

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

/// Bytes of a script's file.
pub const MAX_SCRIPT: u64 = 4 << 20;
/// Bytes of a module or wasm file.
pub const MAX_FILE: u64 = 64 << 20;
/// Most scripts that are cached after they were read.
const MOST_KEPT: usize = 1_000;

/// Scripts in folders: the folder of the script that names another first, then the roots in order,
/// first by path and then by file name or `_id` at most four folders deep.
///
/// What lies deeper than a root's own folder is looked up once, the first time that a name needs
/// it.
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
    /// As the user gave it: the beginning of names in messages.
    shown: PathBuf,
    /// Absolute: the beginning of `__filename`.
    path: PathBuf,
    dir: Dir,
    index: OnceLock<ScriptIndex>,
    ids: OnceLock<HashMap<String, String>>,
}

#[derive(Clone, Debug)]
struct CachedScript {
    stamp: (Option<SystemTime>, u64),
    script: Arc<Script>,
}

impl Folders {
    /// A library over folders, the most important first. A folder given twice counts once.
    ///
    /// # Errors
    /// That one of them cannot be opened.
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

    /// What [`Library::find`] finds, on this thread.
    ///
    /// # Errors
    /// As [`Library::find`].
    pub fn find_now(
        &self,
        name: &str,
        from: Option<&ScriptSource>,
    ) -> Result<Option<Arc<Script>>, ScriptError> {
        self.shelves.find(name, from)
    }

    /// A file of the first folder itself, whatever its name.
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

/// Folders are read on a thread that may wait.
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

    /// A file name without folder, or an `_id`, deeper in the roots.
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

    /// Where a name may lead, in order: from the script's own folder, then from the roots.
    ///
    /// # Errors
    /// That every way leads out.
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
        // `./x` of a script means the script's own folder and no other.
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
        let stamp = (modified, metadata.len());
        if let Some(script) = self.cached_script(&full, stamp) {
            return Ok(Some(script));
        }
        let shown = root.shown(path);
        let bytes = read_file(file, &metadata, MAX_SCRIPT, &shown)?;
        let script = read::script(shown, Some(full.clone()), bytes)?;
        self.keep(full, stamp, &script);
        Ok(Some(script))
    }

    fn cached_script(&self, path: &Path, stamp: (Option<SystemTime>, u64)) -> Option<Arc<Script>> {
        let kept = lock(&self.kept);
        let kept = kept.get(path).filter(|kept| kept.stamp == stamp)?;
        Some(kept.script.clone())
    }

    fn keep(&self, path: PathBuf, stamp: (Option<SystemTime>, u64), script: &Arc<Script>) {
        let mut kept = lock(&self.kept);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        let script = script.clone();
        kept.insert(path, CachedScript { stamp, script });
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

    /// Paths by the `_id` that is in the file.
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

    /// The folder of a script in this root, relative to it; `None` where it is not in it.
    fn folder_of(&self, source: &ScriptSource) -> Option<String> {
        let folder = source.path.as_ref()?.parent()?;
        let folder = folder.strip_prefix(&self.path).ok()?;
        folder.to_str().map(str::to_owned)
    }

    /// A path as the user would write it.
    fn shown(&self, path: &str) -> String {
        let shown = self.shown.strip_prefix(".").unwrap_or(&self.shown);
        shown.join(path).display().to_string()
    }

    /// A regular file, or `None` where there is none.
    fn open_file(&self, path: &str) -> Result<Option<(File, Metadata)>, ScriptError> {
        // Opening a pipe would wait for somebody to write to it.
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
            // The error for a link that leads out.
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
