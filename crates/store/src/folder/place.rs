//! Keys as places inside the folder, and the guard that no key and no link leads out.

use std::fs;
use std::path::{Path, PathBuf};

use quillet_core::store::{Key, Kind, StoreError, StoreErrorKind};

/// The folders of a kind in a folder store; new files go to the first.
#[must_use]
pub fn folders(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Extension => &["extensions"],
        Kind::Prompt => &["prompts", "templates"],
        Kind::Environ => &["environs"],
        Kind::Tool => &["tools"],
        Kind::Agent => &["agents"],
        Kind::Database => &["databases"],
        Kind::Label => &["labels"],
    }
}

/// The kind whose entries are in a folder of this name.
pub(crate) fn kind_of(folder: &str) -> Option<Kind> {
    let holds = |kind: &Kind| folders(*kind).contains(&folder);
    Kind::ALL.into_iter().find(holds)
}

/// Longest segment of a key that becomes a file name, in bytes: file systems take
/// 255, and an ending and a temporary name must fit too.
const MAX_SEGMENT: usize = 200;

/// The path of a key below the root, without an ending.
///
/// # Errors
/// `Refused` for a key with a segment that is no portable file name.
pub(crate) fn path_of(kind: Kind, key: &Key) -> Result<PathBuf, StoreError> {
    let first = folders(kind).first().copied().unwrap_or_default();
    let mut path = PathBuf::from(first);
    for segment in key.segments() {
        if let Some(why) = wrong_name(segment) {
            return Err(refused(format!(
                "key {:?} cannot be a file: {why}",
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
    if segment.starts_with('.') || segment.ends_with(['.', ' ']) {
        return Some(format!(
            "{segment:?} begins with a dot, or ends with one or a space"
        ));
    }
    let bad = |c: &char| c.is_control() || r#"/\*?"<>|%"#.contains(*c);
    let found = segment.chars().find(bad)?;
    Some(format!("{segment:?} has the character {found:?}"))
}

pub(crate) fn refused(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Refused, message)
}

/// Where a link or a file really is, if that is inside of the root, which is canonical.
pub(crate) fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    real.starts_with(root).then_some(real)
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
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(refused(format!("{}: {error}", folder.display())));
            }
            _ => {}
        }
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
            (Kind::Environ, "vscode:lang", "environs/vscode/lang"),
            (Kind::Prompt, "p", "prompts/p"),
            (Kind::Tool, "model:gpt-4.1", "tools/model/gpt-4.1"),
        ];
        for (kind, key, path) in cases {
            assert_eq!(path_of(kind, &Key::new(key)).unwrap(), Path::new(path));
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
            let error = path_of(Kind::Tool, &Key::new(key)).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Refused, "{key}");
        }
    }
}
