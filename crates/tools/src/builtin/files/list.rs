//! Tool `list_files`: lists the files of a folder, or all files that match a pattern.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};
use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::{BoxFuture, Map, Value};
use serde_json::{Value as Json, json};

use super::glob::{Glob, GlobPositions};
use super::workspace::{PathError, Workspace};
use super::{TIME, blocking, word};
use crate::builtin::work::{BuiltinHandler, BuiltinSpec};

/// Maximum number of files in one result.
const MOST_FILES: usize = 1_000;
/// Maximum number of entries to read.
const MOST_ENTRIES: usize = 50_000;
/// Maximum nesting of folders.
const MOST_DEPTH: usize = 32;

pub(crate) static SHAPE: LazyLock<BuiltinSpec> = LazyLock::new(|| {
    BuiltinSpec::new(
        "list_files",
        "Lists files of the workspace. Without a pattern: what is in the directory itself.",
        &json!({
            "directory": {"type": "string", "default": ".", "description": "The directory, relative to the workspace."},
            "pattern": {"type": ["string", "null"], "description": "Which files, such as *.md; **/*.md looks into all directories below."},
        }),
        &[],
    )
});

/// The tool `list_files` for one workspace.
#[derive(Debug)]
pub(crate) struct ListFiles(pub(crate) Arc<Workspace>);

impl BuiltinHandler for ListFiles {
    fn run<'a>(&'a self, arguments: &'a Map) -> BoxFuture<'a, Result<Value, ToolError>> {
        let directory = word(arguments, "directory").to_owned();
        let pattern = arguments.get("pattern").and_then(Value::as_str);
        let pattern = pattern.map(str::to_owned);
        let workspace = self.0.clone();
        Box::pin(async move {
            let told = json!({"directory": directory, "pattern": pattern});
            let work = move || list(&workspace, &directory, pattern.as_deref());
            let answer = blocking(work).await;
            answer.map_err(|refusal| refusal.into_tool_error("list_files", told))
        })
    }
}

fn list(workspace: &Workspace, directory: &str, pattern: Option<&str>) -> Result<Json, PathError> {
    let glob = Glob::read(pattern.unwrap_or("*")).map_err(|why| {
        let why = format!("the pattern {:?}: {why}", pattern.unwrap_or_default());
        PathError::new(ToolErrorKind::Arguments, why)
    })?;
    let folder = workspace.folder(directory)?;
    let mut walk = FolderWalk::new(&glob, directory);
    walk.folder(&folder, "", &glob.start(), 0);
    Ok(walk.answer(pattern))
}

/// Walk through folders, with its result.
struct FolderWalk<'w> {
    glob: &'w Glob,
    directory: &'w str,
    files: Vec<Json>,
    folders: Vec<String>,
    entries: usize,
    started: Instant,
    /// Reason why the walk is incomplete.
    cut: Option<String>,
}

impl<'w> FolderWalk<'w> {
    fn new(glob: &'w Glob, directory: &'w str) -> Self {
        FolderWalk {
            glob,
            directory,
            files: Vec::new(),
            folders: Vec::new(),
            entries: 0,
            started: Instant::now(),
            cut: None,
        }
    }

    /// Reads a folder in name order. `inside` is its path relative to the requested directory.
    fn folder(&mut self, folder: &Dir, inside: &str, places: &GlobPositions, depth: usize) {
        let Ok(entries) = folder.entries() else {
            return;
        };
        let room = MOST_ENTRIES.saturating_sub(self.entries);
        let mut names: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            // One entry beyond the limit shows that the list is incomplete.
            .take(room + 1)
            .collect();
        if names.len() > room {
            self.cut(format!("only {MOST_ENTRIES} entries were looked at"));
            names.truncate(room);
        }
        self.entries += names.len();
        // File systems return entries in arbitrary order, but equal calls should have equal
        // results.
        names.sort_unstable();
        for name in names {
            if self.cut.is_some() && self.files.len() >= MOST_FILES {
                return;
            }
            // A name that is not UTF-8 cannot be requested: it is shown but not entered.
            let shown = name.to_string_lossy();
            let path = match inside {
                "" => shown.to_string(),
                inside => format!("{inside}/{shown}"),
            };
            let (whole, within) = self.glob.step(places, &shown);
            let Ok(metadata) = folder.symlink_metadata(&name) else {
                continue;
            };
            if metadata.is_dir() {
                self.below(folder, &name, &path, &within, depth);
            } else if whole && let Some(metadata) = of_file(folder, &name, metadata) {
                self.file(&path, &metadata, name.to_str().is_some());
            }
        }
    }

    /// Enters a subfolder if something in it can match. Links to folders are not followed, because
    /// a loop of them would never end.
    fn below(
        &mut self,
        folder: &Dir,
        name: &std::ffi::OsStr,
        path: &str,
        within: &GlobPositions,
        depth: usize,
    ) {
        if depth == 0 {
            self.folders.push(path.to_owned());
        }
        if within.is_empty() {
            return;
        }
        if depth >= MOST_DEPTH || self.started.elapsed() > TIME {
            self.cut(format!("{path} was not looked into: too deep, or too late"));
            return;
        }
        // Links to directories are not followed, because they may form loops.
        if let Ok(folder) = folder.open_dir_nofollow(name) {
            self.folder(&folder, path, within, depth + 1);
        }
    }

    fn file(&mut self, path: &str, metadata: &Metadata, named: bool) {
        if self.files.len() >= MOST_FILES {
            self.cut(format!("there are more than {MOST_FILES} files"));
            return;
        }
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|time| jiff::Timestamp::try_from(time.into_std()).ok());
        let path = match self.directory.trim_end_matches('/') {
            "" | "." => path.to_owned(),
            directory => format!("{directory}/{path}"),
        };
        let mut file = json!({
            "path": path,
            "size": metadata.len(),
            "modified": modified.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        });
        if !named {
            file["note"] = "its name is not UTF-8, so it cannot be read".into();
        }
        self.files.push(file);
    }

    fn cut(&mut self, why: String) {
        self.cut.get_or_insert(why);
    }

    fn answer(self, pattern: Option<&str>) -> Json {
        let mut answer = json!({
            "file_count": self.files.len(),
            "files": self.files,
            "directory": self.directory,
            "pattern": pattern,
        });
        if pattern.is_none() {
            answer["directories"] = self.folders.into();
        }
        if let Some(why) = self.cut {
            answer["truncated"] = why.into();
        }
        answer
    }
}

/// Metadata of a directory entry. Follows links within the workspace.
fn of_file(folder: &Dir, name: &std::ffi::OsStr, metadata: Metadata) -> Option<Metadata> {
    let metadata = if metadata.is_symlink() {
        // The metadata follows a link only within the workspace.
        folder.metadata(name).ok()?
    } else {
        metadata
    };
    metadata.is_file().then_some(metadata)
}
