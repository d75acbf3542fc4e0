//! Conversion of keys to paths, with checks that no key or symbolic link leads out of the folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use quillet_core::store::{EntryKey, EntryKind, StoreError, StoreErrorKind};

/// Suffix of the history folder, which is next to the store's folder.
const HISTORY: &str = ".history";

/// Folder of the labels in the history folder.
pub(crate) const LABELS: &str = "labels";

/// Folders of a store.
#[derive(Debug)]
pub(crate) struct Roots {
    /// Folder of the definitions. Absolute; may be a symbolic link.
    pub(crate) definitions: PathBuf,
    /// Folder of histories and labels. It is a separate folder, so it can be committed together
    /// with the definitions or excluded. Created with the first version.
    pub(crate) history: PathBuf,
}

impl Roots {
    /// Determines the folders of the store at a path.
    ///
    /// # Errors
    /// The path cannot be made absolute or resolved.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let definitions = std::path::absolute(path)?;
        // A path that ends in `..` has no file name, so it is resolved.
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
            // The root of the file system has no siblings.
            None => named.join(HISTORY),
        };
        Ok(Roots {
            definitions,
            history,
        })
    }

    /// Returns the folder with the entries of a kind.
    pub(crate) fn of(&self, kind: EntryKind) -> &Path {
        match kind {
            EntryKind::Label => &self.history,
            _ => &self.definitions,
        }
    }
}

/// Returns the subfolders for a kind of definition in a folder store. New files are created in the
/// first subfolder.
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

/// Returns the kind with a subfolder of this name.
pub(crate) fn kind_of(folder: &str) -> Option<EntryKind> {
    let holds = |kind: &EntryKind| folders(*kind).contains(&folder);
    EntryKind::ALL.into_iter().find(holds)
}

/// Maximum length of a key segment that becomes a file name, in bytes.
// File systems allow 255 bytes; this leaves room for an ending and the temporary suffix.
const MAX_SEGMENT: usize = 200;

/// Maximum depth of folders below the folder of a kind.
pub(crate) const MAX_DEPTH: usize = 16;

/// Returns the path of a key relative to the root, without an extension.
///
/// # Errors
/// `Refused` for a key with a segment that is not a portable file name.
pub(crate) fn path_of(kind: EntryKind, key: &EntryKey) -> Result<PathBuf, StoreError> {
    let first = folders(kind).first().copied().unwrap_or_default();
    below(first, key)
}

/// Returns the path of a key below a folder, without an extension.
///
/// # Errors
/// Same as [`path_of`].
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

/// Returns the reason why a text is not a valid file name on all known systems.
fn wrong_name(segment: &str) -> Option<String> {
    if segment.is_empty() {
        return Some("it has an empty segment".to_owned());
    }
    if segment.len() > MAX_SEGMENT {
        return Some(format!("a segment is longer than {MAX_SEGMENT} bytes"));
    }
    // A leading dot hides a file, and Windows drops trailing dots and spaces.
    if segment.starts_with('.') || segment.ends_with(['.', ' ']) {
        return Some(format!(
            "{segment:?} starts with a dot, or ends with a dot or a space"
        ));
    }
    // Includes the characters that Windows forbids, so a folder can be copied to any system.
    let bad = |c: &char| c.is_control() || r#"/\*?"<>|%"#.contains(*c);
    let found = segment.chars().find(bad)?;
    Some(format!(
        "{segment:?} contains the invalid character {found:?}"
    ))
}

pub(crate) fn refused(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Refused, message)
}

/// Resolves symbolic links; `None` if the result is outside the root, which must be canonical.
pub(crate) fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    real.starts_with(root).then_some(real)
}

/// Creates the history folder if it is missing.
///
/// # Errors
/// `Refused` with the reason of the operating system.
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

/// Creates the folders of a relative path one at a time, so none is created behind a symbolic link
/// that leads out of the root.
///
/// # Errors
/// `Refused` with the reason of the operating system, or for a symbolic link out of the root.
pub(crate) fn make_folders(root: &Path, relative: &Path) -> Result<PathBuf, StoreError> {
    let wrong = |error| refused(format!("{}: {error}", root.display()));
    let root = &fs::canonicalize(root).map_err(wrong)?;
    let mut folder = root.clone();
    for part in relative.components() {
        folder.push(part);
        match fs::create_dir(&folder) {
            // Another process may create the same folder concurrently.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(refused(format!("{}: {error}", folder.display())));
            }
            _ => {}
        }
        // The folder is checked at each level after it exists, because any parent may be a symbolic
        // link.
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
