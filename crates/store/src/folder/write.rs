//! Writing and removing the files of entries.

use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use quillet_core::history::DefinitionContent;
use quillet_core::store::{EntryKey, EntryKind, StoreError};

use super::document::{self, FOLDER_CONFIG, FOLDER_TEXT};
use super::key_path::{self, Roots, refused};

/// Writes an entry beside its place and renames, so that no reader sees half a file. A file of
/// another form (YAML, a bare template) makes way for the new one.
///
/// `before` is the file that it was in.
///
/// # Errors
/// `Refused` for a key that is no path, a file name whose ending says nothing here, and where the
/// system refuses.
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
            // Before the text: the text makes the folder a prompt, and must not be read with an old
            // configuration.
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
        // After the new file is in place, so a crash leaves two files and not none.
        Some(before) if before != path => remove(before).map(drop),
        _ => Ok(()),
    }
}

/// Removes the file of an entry, and what belongs to it; `false` if there was none.
///
/// # Errors
/// `Refused` where the system refuses.
pub(crate) fn remove(path: &Path) -> Result<bool, StoreError> {
    if path.file_name() != Some(FOLDER_TEXT.as_ref()) {
        return delete(path);
    }
    // Alone, it would be a prompt of its own.
    delete(&path.with_file_name(FOLDER_CONFIG))?;
    let removed = delete(path);
    if let Some(folder) = path.parent() {
        // Other files may be in it.
        let _ = fs::remove_dir(folder);
    }
    removed
}

/// Whether this is a prompt that is a folder.
fn is_function(kind: EntryKind, content: &DefinitionContent) -> bool {
    let is_one = content.companion.is_some() || &*content.file == FOLDER_TEXT;
    kind == EntryKind::Prompt && is_one
}

/// How the file of an entry ends, and what is in it. Of the name that a version has, only the
/// ending counts: the rest follows the key.
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

/// Sets a file to a text, for all readers at once.
///
/// # Errors
/// `Refused` where the system refuses.
pub(crate) fn replace(path: &Path, text: &str, private: bool) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // In the same folder, since a rename across file systems is not atomic. Scans ignore names that
    // start with a dot.
    let temporary = path.with_file_name(format!(".{name}.new"));
    let made = make_file(&temporary, text, private);
    let placed = made.and_then(|()| fs::rename(&temporary, path));
    placed.map_err(|error| refused(format!("{}: {error}", path.display())))
}

/// Makes a file that is not there yet: what a stopped process or somebody else has left in
/// its place is not written to. The addresses of databases hold passwords, so that their
/// files are private, for their owner only.
fn make_file(path: &Path, content: &str, private: bool) -> io::Result<()> {
    delete(path).map_err(io::Error::other)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    make_private(&mut options, private);
    options.open(path)?.write_all(content.as_bytes())
}

/// Has a file that is made be readable by its owner only.
pub(crate) fn make_private(options: &mut OpenOptions, private: bool) {
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = (options, private);
}

/// Removes a file; `false` if there was none.
///
/// # Errors
/// `Refused` where the system refuses.
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
