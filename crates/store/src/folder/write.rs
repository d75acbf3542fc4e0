//! Writes and removes the files of entries.

use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use quillet_core::history::DefinitionContent;
use quillet_core::store::{EntryKey, EntryKind, StoreError};

use super::document::{self, FOLDER_CONFIG, FOLDER_TEXT};
use super::key_path::{self, Roots, refused};

/// Writes an entry to a temporary file and renames it, so readers never see an incomplete file. If
/// the entry was in another format (YAML, a plain template), its old file is removed.
///
/// `before` is the current file of the entry.
///
/// # Errors
/// `Refused` for a key that is not a valid path, for a file name with an unknown extension, and for
/// errors of the operating system.
pub(crate) fn write(
    roots: &Roots,
    kind: EntryKind,
    key: &EntryKey,
    content: &DefinitionContent,
    before: Option<&Path>,
) -> Result<(), StoreError> {
    let relative = key_path::path_of(kind, key)?;
    let root = roots.of(kind);
    if kind == EntryKind::Label {
        key_path::make_root(root)?;
    }
    // The connection URL of a database contains its password.
    let private = kind == EntryKind::Database;
    let path = if is_function(kind, content) {
        let folder = key_path::make_folders(root, &relative)?;
        let config = folder.join(FOLDER_CONFIG);
        match &content.companion {
            // The configuration is written before the text, because the text makes the folder a
            // prompt and must not be combined with an old configuration.
            Some((_, text)) => replace(&config, text, private)?,
            None => delete(&config).map(drop)?,
        }
        let path = folder.join(FOLDER_TEXT);
        replace(&path, &content.text, private)?;
        path
    } else {
        let (ending, text) = form(kind, key, content)?;
        let parent = relative.parent().unwrap_or(Path::new(""));
        let parent = key_path::make_folders(root, parent)?;
        let stem = relative.file_name().unwrap_or_default().to_string_lossy();
        let path = parent.join(format!("{stem}{ending}"));
        replace(&path, &text, private)?;
        path
    };
    match before {
        // The old file is removed after the new file is written, so a crash leaves two files
        // instead of none.
        Some(before) if before != path => remove(before).map(drop),
        _ => Ok(()),
    }
}

/// Removes the file of an entry and its configuration; `false` if it does not exist.
///
/// # Errors
/// `Refused` for errors of the operating system.
pub(crate) fn remove(path: &Path) -> Result<bool, StoreError> {
    if path.file_name() != Some(FOLDER_TEXT.as_ref()) {
        return delete(path);
    }
    // Without the text, the configuration would be a separate prompt.
    delete(&path.with_file_name(FOLDER_CONFIG))?;
    let removed = delete(path);
    if let Some(folder) = path.parent() {
        // The removal fails if the folder contains other files, which is fine.
        let _ = fs::remove_dir(folder);
    }
    removed
}

/// Whether the content is a prompt that consists of a folder.
fn is_function(kind: EntryKind, content: &DefinitionContent) -> bool {
    let is_one = content.companion.is_some() || &*content.file == FOLDER_TEXT;
    kind == EntryKind::Prompt && is_one
}

/// Returns the extension and the content of an entry's file. Only the extension of a version's file
/// name is used; the key determines the remaining path.
fn form<'a>(
    kind: EntryKind,
    key: &EntryKey,
    content: &'a DefinitionContent,
) -> Result<(Cow<'a, str>, Cow<'a, str>), StoreError> {
    let (file, text) = (&*content.file, &*content.text);
    if file.is_empty() {
        let (ending, text) = document::written(kind, text);
        return Ok((Cow::Borrowed(ending), text));
    }
    let Some((stem, _)) = document::form_of(kind, file) else {
        let name = kind.name();
        return Err(refused(format!(
            "{key}: no {name} in a folder can have the file name {file:?}"
        )));
    };
    let ending = file.get(stem.len()..).unwrap_or_default();
    Ok((Cow::Borrowed(ending), Cow::Borrowed(text)))
}

/// Replaces the content of a file atomically.
///
/// # Errors
/// `Refused` for errors of the operating system.
pub(crate) fn replace(path: &Path, text: &str, private: bool) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The temporary file is in the same folder, because a rename across file systems is not atomic.
    // Scans ignore names that start with a dot.
    let temporary = path.with_file_name(format!(".{name}.new"));
    let made = make_file(&temporary, text, private);
    let placed = made.and_then(|()| fs::rename(&temporary, path));
    placed.map_err(|error| refused(format!("{}: {error}", path.display())))
}

/// Creates a new file, removing any existing one instead of writing to it. Definitions of databases
/// contain passwords, so their files are readable by the owner only.
fn make_file(path: &Path, content: &str, private: bool) -> io::Result<()> {
    delete(path).map_err(io::Error::other)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    make_private(&mut options, private);
    options.open(path)?.write_all(content.as_bytes())
}

/// Makes new files readable by the owner only, if `private` is set.
pub(crate) fn make_private(options: &mut OpenOptions, private: bool) {
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = (options, private);
}

/// Deletes a file; `false` if it does not exist.
///
/// # Errors
/// `Refused` for errors of the operating system.
pub(crate) fn delete(path: &Path) -> Result<bool, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(refused(format!("{}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use quillet_core::store::StoreErrorKind;

    use super::*;

    #[test]
    fn names_of_files_say_how_they_are_read() {
        let content = |file: &str, text: &str| DefinitionContent {
            text: text.into(),
            file: file.into(),
            companion: None,
        };
        let script = r#"{"format":"script","source":"user: hi\n"}"#;
        for (kind, file, text, ending, written) in [
            (EntryKind::Prompt, "", "{}", ".json", "{}"),
            (EntryKind::Prompt, "", script, ".ai.yaml", "user: hi\n"),
            (EntryKind::Prompt, "a.prompt", "Hi", ".prompt", "Hi"),
            (EntryKind::Prompt, "a.b.prompty", "Hi", ".prompty", "Hi"),
            (EntryKind::Prompt, "../../x.yaml", "a: 1", ".yaml", "a: 1"),
            (EntryKind::Tool, "a.yml", "a: [", ".yml", "a: ["),
        ] {
            let content = content(file, text);
            let (found, is) = form(kind, &EntryKey::new("k"), &content).unwrap();
            assert_eq!((&*found, &*is), (ending, written), "{file}");
        }
        for (kind, file) in [
            (EntryKind::Prompt, "a.md"),
            (EntryKind::Prompt, ".prompt"),
            (EntryKind::Prompt, "a.prompt/../../x"),
            (EntryKind::Tool, "a.prompt"),
        ] {
            let error = form(kind, &EntryKey::new("k"), &content(file, "Hi")).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Refused, "{file}");
        }
    }
}
