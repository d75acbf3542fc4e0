//! Imports a folder into a collection.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;

use quillet_core::knowledge::{DocumentInput, Knowledge};
use quillet_core::store::{StoreError, StoreErrorKind};
use serde::Serialize;

use super::sqlite_knowledge::SqliteKnowledge;
use super::{html, rows};

/// Maximum depth of folders.
const MAX_DEPTH: usize = 32;

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Number of new or changed files.
    pub put: usize,
    /// Number of unchanged files.
    pub unchanged: usize,
    /// Number of documents whose files no longer exist.
    pub removed: usize,
    /// Files that could not be imported, and the reasons.
    pub problems: Vec<String>,
}

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentFormat {
    Markdown,
    Html,
    Plain,
}

fn form_of(path: &Path) -> Option<DocumentFormat> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "md" | "markdown" => Some(DocumentFormat::Markdown),
        "html" | "htm" | "xhtml" => Some(DocumentFormat::Html),
        "txt" | "text" | "json" | "jsonl" | "rst" | "adoc" | "yaml" | "yml" | "csv" => {
            Some(DocumentFormat::Plain)
        }
        _ => None,
    }
}

impl SqliteKnowledge {
    /// Imports the files of a folder (Markdown, HTML, JSON and plain text), and removes documents
    /// whose file no longer exists from the collection. Unchanged files are read but not imported
    /// again.
    ///
    /// # Errors
    /// The folder cannot be read or has too many files, or the database fails. Files that are not
    /// text are listed in the result's `problems`.
    pub async fn import(
        &self,
        folder: &Path,
        collection: &str,
    ) -> Result<ImportReport, StoreError> {
        import(self, folder, collection).await
    }
}

async fn import(
    knowledge: &SqliteKnowledge,
    folder: &Path,
    collection: &str,
) -> Result<ImportReport, StoreError> {
    let (root, most) = (folder.to_owned(), knowledge.options.max_files);
    let files = blocking(move || files(&root, most)).await??;
    let mut done = ImportReport::default();
    let mut names = HashSet::new();
    for (name, path) in files {
        names.insert(name.clone());
        let limit = knowledge.options.max_document_bytes;
        let collection = collection.to_owned();
        let document = blocking(move || read(&path, limit, collection, name)).await?;
        match document {
            Ok(document) => take(knowledge, &document, &mut done).await?,
            Err(problem) => done.problems.push(problem),
        }
    }
    for known in knowledge.list(collection).await? {
        if !names.contains(&known.name) && knowledge.remove(collection, &known.name).await? {
            done.removed += 1;
        }
    }
    Ok(done)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| wrong(StoreErrorKind::Unavailable, format!("import: {error}")))
}

async fn take(
    knowledge: &SqliteKnowledge,
    document: &DocumentInput,
    done: &mut ImportReport,
) -> Result<(), StoreError> {
    let (same, model) = (document.clone(), knowledge.embedder.as_ref());
    let model = model.map(|embedder| embedder.model().to_owned());
    let work = move |file: &mut rusqlite::Connection| rows::is_same(file, &same, model.as_deref());
    if knowledge.database.run(work).await? {
        done.unchanged += 1;
        return Ok(());
    }
    knowledge.put(document).await?;
    done.put += 1;
    Ok(())
}

fn wrong(kind: StoreErrorKind, message: String) -> StoreError {
    StoreError::new(kind, message)
}

/// Returns the names and paths of all text files, by name. Symbolic links are not followed, because
/// they may lead anywhere.
fn files(root: &Path, most: usize) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let unreadable = |error: std::io::Error| {
            let message = format!("folder {}: {error}", folder.display());
            wrong(StoreErrorKind::Configuration, message)
        };
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            if kind.is_dir() && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if kind.is_file() && form_of(&path).is_some() {
                found.extend(name_of(root, &path).map(|name| (name, path)));
            }
        }
        if found.len() > most {
            let message = format!(
                "folder {}: more than {most} files (max_files)",
                root.display()
            );
            return Err(wrong(StoreErrorKind::Refused, message));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the path relative to the root, with slashes; `None` if it is not UTF-8.
fn name_of(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.components();
    let parts: Option<Vec<&str>> = parts.map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

fn read(
    path: &Path,
    limit: usize,
    collection: String,
    name: String,
) -> Result<DocumentInput, String> {
    let text = contents(path, limit).map_err(|problem| format!("{name}: {problem}"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (title, text) = match form_of(path) {
        Some(DocumentFormat::Html) => html::read(text),
        Some(DocumentFormat::Markdown) => (heading(text), text.to_owned()),
        _ => (None, text.to_owned()),
    };
    Ok(DocumentInput {
        collection,
        title: title.unwrap_or_else(|| name.clone()),
        name,
        url: None,
        summary: None,
        text,
    })
}

fn contents(path: &Path, limit: usize) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let reading = file.take(limit as u64 + 1).read_to_end(&mut bytes);
    reading.map_err(|error| error.to_string())?;
    if bytes.len() > limit {
        return Err(format!(
            "more than the limit of {limit} bytes (max_document_bytes)"
        ));
    }
    let wrong = |error: FromUtf8Error| error.utf8_error().valid_up_to();
    String::from_utf8(bytes)
        .map_err(|error| format!("invalid UTF-8 at byte offset {}", wrong(error)))
}

/// Returns the first heading of a Markdown text.
fn heading(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("# "))?;
    let line = line.trim().trim_end_matches('#').trim_end();
    (!line.is_empty()).then(|| line.to_owned())
}
