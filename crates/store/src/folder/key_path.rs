//! Keys as places inside the folder, and the guard that no key and no link leads out.

use std::path::{Path, PathBuf};
use std::{fs, io};

use quillet_core::store::{EntryKey, EntryKind, StoreError, StoreErrorKind};

/// What is added to the name of a store's folder for that of the histories beside it.
const HISTORY: &str = ".history";

/// The folder of the labels among the histories.
pub(crate) const LABELS: &str = "labels";

/// The folders of a store.
#[derive(Debug)]
pub(crate) struct Roots {
    /// Of the definitions. Absolute; may be a link.
    pub(crate) definitions: PathBuf,
    /// Of their histories, and of the labels. Beside the other, so that it can be committed with it
    /// or left out; not there before the first version.
    pub(crate) history: PathBuf,
}

impl Roots {
    /// The folders of the store at a path.
    ///
    /// # Errors
    /// There is no folder that the path could begin at.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let definitions = std::path::absolute(path)?;
        // `..` has no name; what it leads to has one.
        let named = match definitions.file_name() {
            Some(_) => definitions.clone(),
            None => fs::canonicalize(&definitions)?,
        };
        let history = match named.file_name() {
            Some(name) => {
                let mut name = name.to_owned();
                name.push(HISTORY);
                named.with_file_name(name)
            }
            // Nothing is beside the root of all folders.
            None => named.join(HISTORY),
        };
        Ok(Roots {
            definitions,
            history,
        })
    }

    /// The one that the entries of a kind are in.
    pub(crate) fn of(&self, kind: EntryKind) -> &Path {
        match kind {
            EntryKind::Label => &self.history,
            _ => &self.definitions,
        }
    }
}

/// The folders of a kind in a folder store; new files go to the first.
///
/// # Examples
///
/// ```
/// use quillet_core::store::EntryKind;
/// use quillet_store::folders;
///
/// assert_eq!(folders(EntryKind::Prompt), ["prompts", "templates"]);
/// assert_eq!(folders(EntryKind::Tool), ["tools"]);
/// ```
#[must_use]
pub fn folders(kind: EntryKind) -> &'static [&'static str] {
    match kind {
        EntryKind::Extension => &["extensions"],
        EntryKind::Prompt => &["prompts", "templates"],
        EntryKind::Environ => &["environs"],
        EntryKind::Tool => &["tools"],
        EntryKind::Agent => &["agents"],
        EntryKind::Database => &["databases"],
        EntryKind::Label => &[LABELS],
    }
}

/// The kind whose entries are in a folder of this name.
pub(crate) fn kind_of(folder: &str) -> Option<EntryKind> {
    let holds = |kind: &EntryKind| folders(*kind).contains(&folder);
    EntryKind::ALL.into_iter().find(holds)
}

/// Longest segment of a key that becomes a file name, in bytes: file systems take
/// 255, and an ending and a temporary name must fit too.
// File systems allow 255 bytes; this leaves room for an ending and the temporary suffix.
const MAX_SEGMENT: usize = 200;

/// How deep folders may be nested below a kind's folder.
pub(crate) const MAX_DEPTH: usize = 16;

/// The path of a key below the root, without an ending.
///
/// # Errors
/// `Refused` for a key with a segment that is no portable file name.
pub(crate) fn path_of(kind: EntryKind, key: &EntryKey) -> Result<PathBuf, StoreError> {
    let first = folders(kind).first().copied().unwrap_or_default();
    below(first, key)
}

/// The path of a key below a folder, without an ending.
///
/// # Errors
/// As [`path_of`].
pub(crate) fn below(folder: &str, key: &EntryKey) -> Result<PathBuf, StoreError> {
    if key.segments().count() > MAX_DEPTH + 1 {
        let key = key.as_str();
        return Err(refused(format!(
            "key {key:?} cannot be a file name: it is nested deeper than {MAX_DEPTH} folders"
        )));
    }
    let mut path = PathBuf::from(folder);
    for segment in key.segments() {
        if let Some(why) = wrong_name(segment) {
            return Err(refused(format!(
                "key {:?} cannot be a file name: {why}",
                key.as_str()
            )));
        }
        path.push(segment);
    }
    Ok(path)
}

/// What keeps a text from being a file name on every system we know.
fn wrong_name(segment: &str) -> Option<String> {
    if segment.is_empty() {
        return Some("it has an empty segment".to_owned());
    }
    if segment.len() > MAX_SEGMENT {
        return Some(format!("a segment is longer than {MAX_SEGMENT} bytes"));
    }
    // A leading dot hides a file; Windows drops trailing dots and spaces.
    if segment.starts_with('.') || segment.ends_with(['.', ' ']) {
        return Some(format!(
            "{segment:?} starts with a dot, or ends with a dot or a space"
        ));
    }
    // Also what Windows forbids, so a folder can be copied to any system.
    let bad = |c: &char| c.is_control() || r#"/\*?"<>|%"#.contains(*c);
    let found = segment.chars().find(bad)?;
    Some(format!(
        "{segment:?} contains the invalid character {found:?}"
    ))
}

pub(crate) fn refused(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Refused, message)
}

/// Where a link or a file really is, if that is inside of the root, which is canonical.
pub(crate) fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    real.starts_with(root).then_some(real)
}

/// Makes the folder of the histories, if it is not there.
///
/// # Errors
/// `Refused` with the system's reason.
pub(crate) fn make_root(root: &Path) -> Result<(), StoreError> {
    match fs::create_dir(root) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let root = root.display();
            Err(refused(format!(
                "{root}: {error}; histories are stored next to the store's folder"
            )))
        }
        _ => Ok(()),
    }
}

/// Makes the folders of a relative path, one by one, so that none is made behind a
/// link that leads out.
///
/// # Errors
/// `Refused` with the system's reason, or for a link that leads out.
pub(crate) fn make_folders(root: &Path, relative: &Path) -> Result<PathBuf, StoreError> {
    let wrong = |error| refused(format!("{}: {error}", root.display()));
    let root = &fs::canonicalize(root).map_err(wrong)?;
    let mut folder = root.clone();
    for part in relative.components() {
        folder.push(part);
        match fs::create_dir(&folder) {
            // Another process may create the same folder at this moment.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(refused(format!("{}: {error}", folder.display())));
            }
            _ => {}
        }
        // Checked at each level after it exists: one of the parents may be a link.
        if inside(root, &folder).is_none() {
            let folder = folder.display();
            return Err(refused(format!(
                "{folder} is a link that leads out of the store's folder"
            )));
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_paths() {
        let cases = [
            (EntryKind::Environ, "vscode:lang", "environs/vscode/lang"),
            (EntryKind::Prompt, "p", "prompts/p"),
            (EntryKind::Tool, "model:gpt-4.1", "tools/model/gpt-4.1"),
        ];
        for (kind, key, path) in cases {
            assert_eq!(path_of(kind, &EntryKey::new(key)).unwrap(), Path::new(path));
        }
    }

    #[test]
    fn keys_that_are_no_file_names_are_refused() {
        let long = "x".repeat(MAX_SEGMENT + 1);
        let cases = [
            "..",
            "../../etc/passwd",
            "a:..:b",
            "/etc/passwd",
            "a/../../b",
            "a\0.json",
            "a\\b",
            "",
            "a::b",
            "*",
            "a*b?[c-d]",
            "..%2f..%2fetc",
            "a%0d%0aFLUSHALL",
            ".hidden",
            "a.",
            &long,
        ];
        for key in cases {
            let error = path_of(EntryKind::Tool, &EntryKey::new(key)).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Refused, "{key}");
        }
    }
}
