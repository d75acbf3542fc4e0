//! A file as a store entry, with its companion files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use quillet_core::store::{EntryKey, StoreEntry};

use crate::failure::CliError;
use crate::source::{self, InputFileKind};

/// Creates a store entry for a file, with its companion file.
///
/// # Errors
/// The companion file cannot be read.
pub(crate) fn entry(key: EntryKey, definition: String, path: &str) -> Result<StoreEntry, CliError> {
    let mut entry = StoreEntry::new(key, definition, source::display_name(path));
    entry.folder = folder(path).map(Into::into);
    let config = path
        .strip_suffix("skprompt.txt")
        .map(|folder| format!("{folder}config.json"))
        .filter(|config| Path::new(config).is_file());
    if let Some(config) = config {
        entry.companion = Some((config.as_str().into(), source::read(&config)?.into()));
    }
    Ok(entry)
}

/// Returns the folder of a file; `None` for standard input.
fn folder(path: &str) -> Option<&Path> {
    let folder = Path::new(path).parent().filter(|_| path != "-")?;
    Some(if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    })
}

/// Returns the partials in the file's folder that it mentions directly or indirectly:
/// `_NAME.prompt`, `_NAME.hbs` and so on. Their keys match the lookup of partials by a prompt with
/// this id.
///
/// # Errors
/// A partial cannot be read.
pub(crate) fn partials(path: &str, id: &str, text: &str) -> Result<Vec<StoreEntry>, CliError> {
    let mut files = partial_files(path);
    let mut texts = vec![text.to_owned()];
    let mut entries = Vec::new();
    let prefix = id.rfind('.').and_then(|dot| id.get(..=dot));
    while let Some(text) = texts.pop() {
        let mentioned = |name: &String, _: &mut String| text.contains(name.as_str());
        // Taken out of the map, so partials that mention each other do not loop.
        for (name, file) in files.extract_if(.., mentioned) {
            let key = EntryKey::new(format!("{}_{name}", prefix.unwrap_or_default()));
            let text = source::read(&file)?;
            let definition = match source::form(&file, &text) {
                Some(InputFileKind::Template(format)) => {
                    source::template(&text, Some(format), true)
                }
                Some(InputFileKind::Prompt) => text.clone(),
                _ => source::definition(&file, &text)?,
            };
            entries.push(entry(key, definition, &file)?);
            texts.push(text);
        }
    }
    Ok(entries)
}

/// Returns the partial files beside a file by name. If two files have the same name, the extension
/// that sorts first takes precedence, as in folder stores.
fn partial_files(path: &str) -> BTreeMap<String, String> {
    let listed = folder(path).and_then(|folder| fs::read_dir(folder).ok());
    let own = Path::new(path).file_name();
    let mut files = BTreeMap::new();
    for file in listed.into_iter().flatten().flatten() {
        let (name, file) = (file.file_name(), file.path());
        let Some(name) = name.to_str().filter(|name| name.starts_with('_')) else {
            continue;
        };
        let is_own = own == Some(name.as_ref());
        if is_own || source::kind_of_file(name).is_none_or(|form| form == InputFileKind::Toml) {
            continue;
        }
        // Users know the file without `./`.
        let file = file.strip_prefix(".").unwrap_or(&file);
        let (called, file) = (source::stem(name), file.to_string_lossy().into_owned());
        let called = called.trim_start_matches('_').to_owned();
        let known: &mut String = files.entry(called).or_insert_with(|| file.clone());
        if file < *known {
            *known = file;
        }
    }
    files
}
