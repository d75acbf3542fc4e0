//! Reads a whole folder into entries.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use quillet_core::Diagnostic;
use quillet_core::store::{Entry, Key, Kind};

use super::document::{self, Form};
use super::place;

/// How deep folders may be nested below a kind's folder.
const MAX_DEPTH: usize = 16;

/// What the folder held at one moment.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) documents: BTreeMap<(Kind, Key), Document>,
    /// Files among the prompts that are no definitions: prompt files may refer to
    /// them, so their changes count.
    pub(crate) others: BTreeMap<PathBuf, Stamp>,
}

/// What shows that a file has changed: its length and when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64, Option<SystemTime>);

/// One file as an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) entry: Entry,
    pub(crate) path: PathBuf,
}

/// Reads everything below a folder.
///
/// # Errors
/// The folder cannot be read. What cannot be read inside becomes a broken entry.
pub(crate) fn scan(folder: &Path, max_file_bytes: usize) -> io::Result<Snapshot> {
    // Each time again, since the folder may be a link that is set to another one.
    let root = fs::canonicalize(folder)?;
    fs::read_dir(&root)?;
    let mut scan = Scan {
        root: &root,
        max_file_bytes,
        found: Snapshot::default(),
    };
    for kind in Kind::ALL {
        for folder in place::folders(kind) {
            scan.folder(kind, &root.join(folder), "", 0);
        }
    }
    Ok(scan.found)
}

/// One file as a folder store would hand it out, wherever it is: its name gives its key, and a
/// `skprompt.txt` is read with its `config.json` under the name of their folder. `None` for a file
/// that is no definition of that kind by its name.
///
/// # Errors
/// There is no such file. One that cannot be read is a broken entry.
pub fn entry_of_file(kind: Kind, path: &Path, max_bytes: usize) -> io::Result<Option<Entry>> {
    let path = fs::canonicalize(path)?;
    let is_function = kind == Kind::Prompt && path.ends_with(document::FOLDER_TEXT);
    let path = match path.parent() {
        Some(folder) if is_function => folder,
        _ => &path,
    };
    let mut scan = Scan {
        root: path.parent().unwrap_or(path),
        max_file_bytes: max_bytes,
        found: Snapshot::default(),
    };
    scan.path(kind, path, "", 0);
    let mut found = scan.found.documents.into_values();
    Ok(found.next().map(|document| document.entry))
}

struct Scan<'a> {
    root: &'a Path,
    max_file_bytes: usize,
    found: Snapshot,
}

impl Scan<'_> {
    /// `prefix` holds the segments above, each followed by a colon.
    fn folder(&mut self, kind: Kind, folder: &Path, prefix: &str, depth: usize) {
        if depth > MAX_DEPTH {
            let folder = folder.display();
            tracing::warn!(%folder, "nested deeper than {MAX_DEPTH} folders: left out");
            return;
        }
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            self.path(kind, &path, prefix, depth);
        }
    }

    fn path(&mut self, kind: Kind, path: &Path, prefix: &str, depth: usize) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            tracing::warn!(path = %path.display(), "file name is not UTF-8: left out");
            return;
        };
        // Hidden files are editors' and ours.
        if name.starts_with('.') || document::is_of_tests(kind, name) {
            return;
        }
        let inside = place::inside(self.root, path);
        if let Some(real) = inside.as_deref().filter(|real| real.is_dir()) {
            if path.is_symlink() && path.ancestors().skip(1).any(|above| leads_to(above, real)) {
                tracing::warn!(path = %path.display(), "a link to a folder that it is in: left out");
                return;
            }
            if kind == Kind::Prompt && path.join(document::FOLDER_TEXT).is_file() {
                self.function(kind, path, &format!("{prefix}{name}"))
            } else {
                self.folder(kind, path, &format!("{prefix}{name}:"), depth + 1)
            }
            return;
        }
        if let Some((stem, form)) = document::form_of(kind, name) {
            let key = Key::new(format!("{prefix}{stem}"));
            let entry = match inside {
                Some(_) => self.file(key.clone(), path, form),
                None => broken(key.clone(), &self.origin(path), leads_out(path)),
            };
            self.keep(kind, key, entry, path);
        } else if let (Kind::Prompt, Some(real)) = (kind, inside)
            && let Ok(about) = fs::metadata(&real)
        {
            let stamp = Stamp(about.len(), about.modified().ok());
            self.found.others.insert(path.to_owned(), stamp);
        }
    }

    /// A folder that is one prompt: Semantic Kernel's `skprompt.txt` with its `config.json`.
    fn function(&mut self, kind: Kind, folder: &Path, key: &str) {
        let (text, config) = (document::FOLDER_TEXT, document::FOLDER_CONFIG);
        let (path, config) = (folder.join(text), folder.join(config));
        let key = Key::new(key);
        let mut entry = match place::inside(self.root, &path) {
            Some(_) => self.file(key.clone(), &path, Form::Prompt),
            None => broken(key.clone(), &self.origin(&path), leads_out(&path)),
        };
        if place::inside(self.root, &config).is_some() {
            match read(&config, self.max_file_bytes) {
                Ok(text) => {
                    entry.companion = Some((self.origin(&config).into(), text.into()));
                }
                Err(message) => entry = broken(key.clone(), &self.origin(&config), message),
            }
        }
        self.keep(kind, key, entry, &path);
    }

    fn file(&self, key: Key, path: &Path, form: Form) -> Entry {
        let origin = self.origin(path);
        match read(path, self.max_file_bytes) {
            Ok(content) => document::entry(key, &origin, form, &content),
            Err(message) => broken(key, &origin, message),
        }
    }

    /// Two files may claim one key: `a.json` and `a.yaml`. The first by name has it.
    fn keep(&mut self, kind: Kind, key: Key, mut entry: Entry, path: &Path) {
        entry.folder = folder_of(kind, path);
        if let Some(first) = self.found.documents.get(&(kind, key.clone())) {
            let (first, second) = (&first.entry.origin, &entry.origin);
            tracing::warn!(%first, %second, "two files for one key: the second is left out");
            return;
        }
        let path = path.to_owned();
        let document = Document { entry, path };
        self.found.documents.insert((kind, key), document);
    }

    fn origin(&self, path: &Path) -> String {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        relative.to_string_lossy().into_owned()
    }
}

/// Prompts may be files that refer to others beside them.
fn folder_of(kind: Kind, path: &Path) -> Option<Arc<Path>> {
    let folder = (kind == Kind::Prompt).then(|| path.parent())?;
    folder.map(Arc::from)
}

fn broken(key: Key, origin: &str, message: String) -> Entry {
    Entry::broken(key, "", Diagnostic::error("store.file", origin, message))
}

fn leads_out(path: &Path) -> String {
    match fs::canonicalize(path) {
        Ok(_) => "it is a link that leads out of the store's folder".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Whether a folder on the way is the one that something leads to.
fn leads_to(above: &Path, real: &Path) -> bool {
    fs::canonicalize(above).is_ok_and(|above| above == real)
}

/// Opens a regular file and nothing else: opening a pipe waits for whoever writes, and opening
/// a device may do anything.
fn open(path: &Path) -> Result<File, String> {
    let regular = |about: io::Result<fs::Metadata>| match about {
        Ok(about) if about.is_file() => Ok(()),
        Ok(about) => Err(format!(
            "it is {}, not a regular file: left out",
            what_it_is(&about)
        )),
        Err(error) => Err(error.to_string()),
    };
    regular(fs::metadata(path))?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Somebody may have put a pipe in its place since.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).map_err(|error| error.to_string())?;
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
        "something special"
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
            "not UTF-8 from byte {} on",
            error.utf8_error().valid_up_to()
        )
    })
}
