//! Reads a folder into entries.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use quillet_core::history::Labels;
use quillet_core::store::{EntryKey, EntryKind, StoreEntry};
use quillet_core::{Diagnostic, Span};
use serde::de::IgnoredAny;

use super::document::{self, FileFormat};
use super::key_path::{self, Roots};

/// Contents of the folder at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct FolderSnapshot {
    pub(crate) documents: BTreeMap<(EntryKind, EntryKey), FolderEntry>,
    /// Files among the prompts that are not definitions. Prompt files may refer to them, so their
    /// changes are tracked.
    pub(crate) others: BTreeMap<PathBuf, FileStamp>,
}

/// Length and modification time of a file, for change detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp(u64, Option<SystemTime>);

/// A file and its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FolderEntry {
    pub(crate) entry: StoreEntry,
    pub(crate) path: PathBuf,
}

/// Scans the whole folder.
///
/// # Errors
/// The folder of the definitions cannot be read. Any other unreadable file becomes an invalid
/// entry.
pub(crate) fn scan(roots: &Roots, max_file_bytes: usize) -> io::Result<FolderSnapshot> {
    let mut scan = FolderScan::new(&roots.definitions, max_file_bytes)?;
    // This call fails if the folder is missing. The folders of the kinds are optional, so their
    // errors are ignored.
    fs::read_dir(&scan.root)?;
    for kind in EntryKind::ALL
        .into_iter()
        .filter(|kind| *kind != EntryKind::Label)
    {
        scan.kind(kind);
    }
    let mut found = scan.found;
    if let Ok(mut scan) = FolderScan::of_labels(roots, max_file_bytes) {
        scan.kind(EntryKind::Label);
        found.documents.append(&mut scan.found.documents);
    }
    Ok(found)
}

/// Reads a single file from any location, in the same way as a folder store. The file name
/// determines the key. A `skprompt.txt` is read together with the `config.json` in its folder, and
/// the folder's name determines the key. Returns `None` if a definition of this kind cannot have
/// this file name.
///
/// # Errors
/// The file does not exist. An unreadable file becomes an invalid entry.
pub fn entry_of_file(
    kind: EntryKind,
    path: &Path,
    max_bytes: usize,
) -> io::Result<Option<StoreEntry>> {
    let path = fs::canonicalize(path)?;
    let is_function = kind == EntryKind::Prompt && path.ends_with(document::FOLDER_TEXT);
    let path = match path.parent() {
        Some(folder) if is_function => folder,
        _ => &path,
    };
    let mut scan = FolderScan::new(path.parent().unwrap_or(path), max_bytes)?;
    scan.path(kind, path, "", 0);
    let mut found = scan.found.documents.into_values();
    Ok(found.next().map(|document| document.entry))
}

/// Reads one entry: first the file that has the key, then the duplicates.
///
/// # Errors
/// The folder of the definitions cannot be read.
pub(crate) fn claims(
    roots: &Roots,
    kind: EntryKind,
    key: &EntryKey,
    max_file_bytes: usize,
) -> io::Result<Vec<FolderEntry>> {
    let mut scan = match kind {
        EntryKind::Label => match FolderScan::of_labels(roots, max_file_bytes) {
            Ok(scan) => scan,
            Err(_) => return Ok(Vec::new()),
        },
        _ => FolderScan::new(&roots.definitions, max_file_bytes)?,
    };
    for folder in key_path::folders(kind) {
        scan.key(kind, folder, key);
    }
    let first = scan.found.documents.remove(&(kind, key.clone()));
    let is_it = |document: &FolderEntry| document.entry.key == *key;
    let others = scan.shadowed.into_iter().filter(is_it);
    Ok(first.into_iter().chain(others).collect())
}

struct FolderScan {
    root: PathBuf,
    /// Prefix of relative paths in messages.
    name: String,
    max_file_bytes: usize,
    found: FolderSnapshot,
    /// Files whose key belongs to another file.
    shadowed: Vec<FolderEntry>,
}

impl FolderScan {
    fn new(folder: &Path, max_file_bytes: usize) -> io::Result<Self> {
        Ok(FolderScan {
            // The path is resolved for each scan, because the folder may be a symbolic link with a
            // new target.
            root: fs::canonicalize(folder)?,
            name: String::new(),
            max_file_bytes,
            found: FolderSnapshot::default(),
            shadowed: Vec::new(),
        })
    }

    fn of_labels(roots: &Roots, max_file_bytes: usize) -> io::Result<Self> {
        let name = roots.history.file_name().unwrap_or_default();
        Ok(FolderScan {
            name: format!("{}/", name.to_string_lossy()),
            ..FolderScan::new(&roots.history, max_file_bytes)?
        })
    }

    fn kind(&mut self, kind: EntryKind) {
        for folder in key_path::folders(kind) {
            let folder = self.root.join(folder);
            self.folder(kind, &folder, "", 0);
        }
    }

    /// Reads only the files that may have this key, or the folder of a function.
    fn key(&mut self, kind: EntryKind, folder: &str, key: &EntryKey) {
        // A key that is not a valid path has no file.
        let Ok(path) = key_path::below(folder, key) else {
            return;
        };
        let (Some(folder), Some(stem)) = (path.parent(), path.file_name()) else {
            return;
        };
        let folder = self.root.join(folder);
        let on_the_way = folder.ancestors().take_while(|above| *above != self.root);
        // The same rules as in a full scan, which does not enter such folders.
        if on_the_way.into_iter().any(|above| !self.is_entered(above)) {
            return;
        }
        let above = key.as_str().rsplit_once(':').map(|(above, _)| above);
        let prefix = above.map_or_else(String::new, |above| format!("{above}:"));
        let stem = stem.to_string_lossy();
        for path in sorted(&folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_file = document::form_of(kind, &name).is_some_and(|(of, _)| *of == *stem);
            let is_function = kind == EntryKind::Prompt
                && *name == *stem
                && path.join(document::FOLDER_TEXT).is_file();
            if is_function || (is_file && !path.is_dir()) {
                self.path(kind, &path, &prefix, 0);
            }
        }
    }

    /// Whether a full scan enters this folder.
    fn is_entered(&self, folder: &Path) -> bool {
        let inside = key_path::inside(&self.root, folder);
        inside.is_some_and(|real| real.is_dir() && !is_circle(folder, &real))
    }

    /// `prefix` contains the parent segments, each followed by a colon.
    fn folder(&mut self, kind: EntryKind, folder: &Path, prefix: &str, depth: usize) {
        if depth > key_path::MAX_DEPTH {
            let folder = folder.display();
            let most = key_path::MAX_DEPTH;
            tracing::warn!(%folder, "nested deeper than {most} folders: left out");
            return;
        }
        for path in sorted(folder) {
            self.path(kind, &path, prefix, depth);
        }
    }

    fn path(&mut self, kind: EntryKind, path: &Path, prefix: &str, depth: usize) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            tracing::warn!(path = %path.display(), "file name is not UTF-8: left out");
            return;
        };
        // Hidden files belong to editors and to this store.
        if name.starts_with('.') || document::is_of_tests(kind, name) {
            return;
        }
        let inside = key_path::inside(&self.root, path);
        if let Some(real) = inside.as_deref().filter(|real| real.is_dir()) {
            if is_circle(path, real) {
                tracing::warn!(path = %path.display(), "link to one of its parent folders: left out");
                return;
            }
            if kind == EntryKind::Prompt && path.join(document::FOLDER_TEXT).is_file() {
                self.function(kind, path, &format!("{prefix}{name}"))
            } else {
                self.folder(kind, path, &format!("{prefix}{name}:"), depth + 1)
            }
            return;
        }
        if let Some((stem, form)) = document::form_of(kind, name) {
            let key = EntryKey::new(format!("{prefix}{stem}"));
            let entry = match inside {
                Some(_) => self.file(key.clone(), path, form),
                None => broken(key.clone(), &self.origin(path), leads_out(path)),
            };
            self.keep(kind, key, entry, path);
        } else if let (EntryKind::Prompt, Some(real)) = (kind, inside)
            && let Ok(about) = fs::metadata(&real)
        {
            let stamp = FileStamp(about.len(), about.modified().ok());
            // The file is not a definition, but prompt files may include it, so changes must be
            // detected.
            self.found.others.insert(path.to_owned(), stamp);
        }
    }

    /// Reads a folder that is one prompt: Semantic Kernel's `skprompt.txt` with its `config.json`.
    fn function(&mut self, kind: EntryKind, folder: &Path, key: &str) {
        let (text, config) = (document::FOLDER_TEXT, document::FOLDER_CONFIG);
        let (path, config) = (folder.join(text), folder.join(config));
        let key = EntryKey::new(key);
        let mut entry = match key_path::inside(&self.root, &path) {
            Some(_) => self.file(key.clone(), &path, FileFormat::Prompt),
            None => broken(key.clone(), &self.origin(&path), leads_out(&path)),
        };
        if key_path::inside(&self.root, &config).is_some() {
            match read(&config, self.max_file_bytes) {
                Ok(text) => {
                    entry.companion = Some((self.origin(&config).into(), text.into()));
                }
                Err(message) => entry = broken(key.clone(), &self.origin(&config), message),
            }
        }
        self.keep(kind, key, entry, &path);
    }

    fn file(&self, key: EntryKey, path: &Path, form: FileFormat) -> StoreEntry {
        let origin = self.origin(path);
        match read(path, self.max_file_bytes) {
            Ok(content) => document::entry(key, &origin, form, &content),
            Err(message) => broken(key, &origin, message),
        }
    }

    /// Stores an entry. If two files have the same key (`a.json` and `a.yaml`), the first by name
    /// is used.
    fn keep(&mut self, kind: EntryKind, key: EntryKey, mut entry: StoreEntry, path: &Path) {
        entry.folder = folder_of(kind, path);
        if kind == EntryKind::Label && entry.problem.is_none() {
            entry.problem = wrong_labels(&entry);
        }
        let path = path.to_owned();
        let document = FolderEntry { entry, path };
        if let Some(first) = self.found.documents.get(&(kind, key.clone())) {
            let (first, second) = (&first.entry.origin, &document.entry.origin);
            tracing::warn!(%first, %second, "two files for one key: the second is left out");
            self.shadowed.push(document);
            return;
        }
        self.found.documents.insert((kind, key), document);
    }

    fn origin(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        format!("{}{}", self.name, relative.to_string_lossy())
    }
}

/// Returns the paths in a folder, sorted by name.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // The order of `read_dir` differs between systems, and the first of two files with one key is
    // used.
    paths.sort();
    paths
}

/// Validates labels, which users may edit, and returns the error.
fn wrong_labels(entry: &StoreEntry) -> Option<Diagnostic> {
    let text = &*entry.text;
    let why = Labels::parse(text).err()?;
    let found = Diagnostic::error(
        "store.labels",
        &entry.origin,
        format!("invalid labels: {why}"),
    );
    let start = place_of(text, &why).filter(|_| entry.origin.ends_with(".json"));
    Some(match start {
        Some(start) => found.at(text, Span { start, end: start }),
        // Offsets in converted YAML do not match the file.
        None => found,
    })
}

/// Returns the offset of the error in JSON labels.
fn place_of(text: &str, why: &str) -> Option<usize> {
    match serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text) {
        Ok(labels) => {
            let mut quoted = labels.keys().map(|name| format!("{name:?}"));
            let name = quoted.find(|name| why.starts_with(&format!("label {name}:")))?;
            text.find(&name)
        }
        Err(error) => {
            let lines = text.split_inclusive('\n');
            let above = lines.take(error.line().saturating_sub(1)).map(str::len);
            Some(above.sum::<usize>() + error.column().saturating_sub(1))
        }
    }
}

/// Returns the folder of a prompt, whose file may refer to its neighbors.
fn folder_of(kind: EntryKind, path: &Path) -> Option<Arc<Path>> {
    let folder = (kind == EntryKind::Prompt).then(|| path.parent())?;
    folder.map(Arc::from)
}

fn broken(key: EntryKey, origin: &str, message: String) -> StoreEntry {
    StoreEntry::invalid(key, "", Diagnostic::error("store.file", origin, message))
}

fn leads_out(path: &Path) -> String {
    match fs::canonicalize(path) {
        Ok(_) => "it is a link that leads out of the store's folder".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Whether a folder is a symbolic link to one of its parents.
fn is_circle(path: &Path, real: &Path) -> bool {
    path.is_symlink() && path.ancestors().skip(1).any(|above| leads_to(above, real))
}

/// Whether a parent folder is the target of a link.
fn leads_to(above: &Path, real: &Path) -> bool {
    fs::canonicalize(above).is_ok_and(|above| above == real)
}

/// Opens regular files only: opening a pipe waits for a writer, and opening a device may have side
/// effects.
pub(crate) fn open(path: &Path) -> Result<File, String> {
    let regular = |about: io::Result<fs::Metadata>| match about {
        Ok(about) if about.is_file() => Ok(()),
        Ok(about) => Err(format!(
            "it is {}, not a regular file: left out",
            what_it_is(&about)
        )),
        Err(error) => Err(error.to_string()),
    };
    // The type is checked before opening, because opening a pipe may block and opening a device may
    // have side effects.
    regular(fs::metadata(path))?;
    let mut options = OpenOptions::new();
    options.read(true);
    // The file may have been replaced by a pipe after the check.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).map_err(|error| error.to_string())?;
    // The type is checked again on the open file, which can no longer be replaced.
    regular(file.metadata())?;
    Ok(file)
}

fn what_it_is(about: &fs::Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = about.file_type();
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    if about.is_dir() {
        "a folder"
    } else {
        "a special file"
    }
}

fn read(path: &Path, max_bytes: usize) -> Result<String, String> {
    let limit = u64::try_from(max_bytes)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut bytes = Vec::new();
    let file = open(path)?;
    let read = file.take(limit).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() > max_bytes {
        return Err(format!(
            "larger than the limit of {max_bytes} bytes (max_file_bytes)"
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "invalid UTF-8 at byte offset {}",
            error.utf8_error().valid_up_to()
        )
    })
}
