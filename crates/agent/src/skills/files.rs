//! Tool `read_skill_file`, with which the model reads files of a loaded skill (`references/…`,
//! `scripts/…`) that its text refers to. It is separate from the workspace tools, which do not
//! depend on skills.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path};
use std::sync::{Arc, RwLock};

use quillet_core::lock;
use quillet_core::tool::{Idempotency, Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, Map, Value, nearest};
use serde_json::json;

/// Name of the tool that reads a file of a loaded skill.
pub const READ_FILE: &str = "read_skill_file";
/// Maximum bytes of a file. Results are also cut for the model.
const MOST_BYTES: u64 = 1024 * 1024;

/// Reads files within the folders of loaded skills only.
#[derive(Debug)]
pub(super) struct ReadSkillFile {
    spec: ToolSpec,
    /// Names and folders of loaded skills. The model keeps using the same tool while further skills
    /// are loaded.
    folders: RwLock<Vec<(String, Arc<Path>)>>,
}

impl Default for ReadSkillFile {
    fn default() -> Self {
        ReadSkillFile {
            spec: spec(),
            folders: RwLock::default(),
        }
    }
}

impl ReadSkillFile {
    /// Adds the folder of a loaded skill.
    pub(super) fn add(&self, skill: &str, folder: Arc<Path>) {
        let mut folders = lock::write(&self.folders);
        folders.push((skill.to_owned(), folder));
    }

    /// Whether no skill with files is loaded.
    pub(super) fn is_empty(&self) -> bool {
        let folders = lock::read(&self.folders);
        folders.is_empty()
    }

    fn folder(&self, skill: &str) -> Result<Arc<Path>, ToolError> {
        let folders = lock::read(&self.folders);
        let found = folders.iter().find(|(name, _)| name == skill);
        if let Some((_, folder)) = found {
            return Ok(Arc::clone(folder));
        }
        let names: Vec<&str> = folders.iter().map(|(name, _)| name.as_str()).collect();
        let near = nearest(skill, names.iter().copied());
        let near = near.map_or(String::new(), |near| format!(" Did you mean {near:?}?"));
        Err(wrong(format!(
            "No loaded skill with files is named {skill:?}.{near} There are: {}",
            names.join(", ")
        )))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: READ_FILE.to_owned(),
        description:
            "Read a file that belongs to a loaded skill, such as one that its instructions \
                      refer to."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "skill": {"type": "string", "description": "Name of a loaded skill"},
                "path": {"type": "string", "description": "The file, relative to the skill's folder"}
            },
            "required": ["skill", "path"]
        }),
        idempotent: true,
        repeat: Idempotency::Freely,
        ..ToolSpec::default()
    }
}

fn wrong(message: String) -> ToolError {
    ToolError::new(ToolErrorKind::Arguments, message)
}

impl Tool for ReadSkillFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let text = |name: &str| match arguments.get(name) {
                Some(Value::Str(text)) => Ok(text.to_string()),
                _ => Err(wrong(format!("{name} must be a string"))),
            };
            let (folder, path) = (self.folder(&text("skill")?)?, text("path")?);
            // File access blocks, and would delay other runs on this thread.
            let read = tokio::task::spawn_blocking(move || read(&folder, &path)).await;
            let failed = |error| ToolError::new(ToolErrorKind::Transport, format!("{error}"));
            read.map_err(failed)?.map(Value::from)
        })
    }
}

/// Reads a file in a folder. Neither `..` nor a symbolic link may lead out of the folder.
fn read(folder: &Path, path: &str) -> Result<String, ToolError> {
    let relative = Path::new(path);
    let inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative.components().all(inside) {
        return Err(wrong(format!("{path:?} is outside the skill's folder")));
    }
    let missing = |_| {
        wrong(format!(
            "The skill has no file {path:?}.{}",
            listing(folder)
        ))
    };
    // The folder is resolved too, because its own path may contain a link.
    let root = fs::canonicalize(folder).map_err(missing)?;
    let real = fs::canonicalize(root.join(relative)).map_err(missing)?;
    if !real.starts_with(&root) {
        return Err(wrong(format!("{path:?} is outside the skill's folder")));
    }
    // Checked before opening, because opening a pipe blocks until a writer appears.
    if !real.is_file() {
        return Err(wrong(format!("{path:?} is not a file.{}", listing(&real))));
    }
    let unreadable = |error| wrong(format!("{path:?} cannot be read: {error}"));
    let mut bytes = Vec::new();
    let file = File::open(&real).map_err(unreadable)?;
    // One byte beyond the limit shows that the file is too long.
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("{path:?} is longer than {MOST_BYTES} bytes");
        return Err(ToolError::new(ToolErrorKind::TooLarge, message));
    }
    String::from_utf8(bytes).map_err(|_| wrong(format!("{path:?} is not UTF-8 text")))
}

/// Lists the entries of a folder, for a model that requested an unknown name.
fn listing(folder: &Path) -> String {
    let Ok(entries) = fs::read_dir(folder) else {
        return String::new();
    };
    let shown = entries.flatten().take(50).filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        // Hidden files do not belong to a skill.
        (!name.starts_with('.')).then(|| if folder { format!("{name}/") } else { name })
    });
    let mut names: Vec<String> = shown.collect();
    names.sort();
    format!(" There are: {}", names.join(", "))
}
