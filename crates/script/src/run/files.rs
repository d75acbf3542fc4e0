//! File directives: `$readFile`, `$isDir`, `$listFilenames`. They read only granted paths.

use std::path::Path;
use std::sync::Arc;

use quillet_core::{Span, Value};

use super::failure::refuse;
use super::instance::Instance;
use super::params::{CallParams, DirectiveResult};
use super::scope::NameScope;
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::ScriptSource;

impl Instance {
    pub(super) async fn read_file(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let Some(name) = params.text("path", 0) else {
            return Err(refuse(scope, at, "missing `path` of `$readFile`"));
        };
        // Paths are relative to the caller, so that a library script reads the files next to the
        // script that called it.
        let asker = self.caller.as_deref().unwrap_or(self);
        let source = asker.resolved.script.source.clone();
        let bytes = self.read_beside(name, &source, scope, at).await?;
        text_of(&bytes, name, scope, at)
    }

    /// Reads a file that a message refers to: either next to the script that adds the message, or
    /// granted.
    pub(super) async fn bytes_of(
        self: &Arc<Self>,
        name: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<Arc<[u8]>, ScriptError> {
        let source = scope.source.clone();
        self.read_beside(name, &source, scope, at).await
    }

    async fn read_beside(
        self: &Arc<Self>,
        name: &str,
        source: &ScriptSource,
        scope: &NameScope,
        at: Span,
    ) -> Result<Arc<[u8]>, ScriptError> {
        let found = self.world.engine.library.file(name, Some(source)).await;
        let found = found.map_err(|mut error| {
            self.locate(&mut error, scope, at);
            error
        })?;
        if let Some(bytes) = found {
            return Ok(bytes);
        }
        let path = self.granted_path(name, scope, at)?;
        let waiting = self.world.budget.waiting();
        let read = tokio::fs::read(&path).await;
        drop(waiting);
        let bytes = read.map_err(|problem| not_read(name, &problem, scope, at))?;
        Ok(bytes.into())
    }

    pub(super) fn is_folder(
        &self,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let name = ["path", "dir", "content"]
            .iter()
            .find_map(|key| params.text(key, 0))
            .or_else(|| params.piped.as_ref()?.as_str());
        let name = name.unwrap_or_default();
        self.refuse_in_durable_run(name, scope, at)?;
        let path = self.granted_path(name, scope, at);
        Ok(Some(Value::Bool(path.is_ok_and(|path| path.is_dir()))))
    }

    pub(super) fn list_files(
        &self,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let name = params.text("path", 0).or_else(|| params.text("dir", 0));
        let name = name.unwrap_or(".");
        let path = self.granted_path(name, scope, at)?;
        let mut endings: Vec<&str> = Vec::new();
        endings.extend(
            params
                .text("pattern", 1)
                .map(|all| all.trim_start_matches('*')),
        );
        match params.named.get("extname") {
            Some(Value::Str(one)) => endings.push(one),
            Some(Value::List(list)) => endings.extend(list.iter().filter_map(Value::as_str)),
            _ => {}
        }
        let deep = params.named.get("recursive") == Some(&Value::Bool(true));
        let mut names = Vec::new();
        listed(&path, deep, &mut names).map_err(|problem| not_read(name, &problem, scope, at))?;
        names.retain(|name| endings.is_empty() || endings.iter().any(|end| name.ends_with(end)));
        // The order of `read_dir` differs between systems.
        names.sort();
        let names: Vec<Value> = names.into_iter().map(Value::from).collect();
        Ok(Some(Value::from(names)))
    }

    /// Rejects file access in a durable run, because the file may have changed when another process
    /// resumes the run.
    fn refuse_in_durable_run(
        &self,
        name: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        if self.world.keeps.is_none() {
            return Ok(());
        }
        let message = format!("cannot read `{name}`: a durable run reads only its scripts");
        let finding = scope.source.error(ErrorKind::Denied.code(), message, at);
        let finding = finding.help(
            "the file could differ when another process resumes the run; read it with a tool",
        );
        Err(ScriptError::new(ErrorKind::Denied, finding))
    }

    /// Returns the canonical path if the script may read it. Symbolic links are resolved first.
    fn granted_path(
        &self,
        name: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<std::path::PathBuf, ScriptError> {
        self.refuse_in_durable_run(name, scope, at)?;
        let folder = self
            .resolved
            .script
            .source
            .path
            .as_deref()
            .and_then(Path::parent);
        let path = folder.unwrap_or(Path::new(".")).join(name);
        // Links are resolved before the check, because a link in an allowed folder may lead outside
        // it.
        let real = path
            .canonicalize()
            .map_err(|problem| not_read(name, &problem, scope, at))?;
        let inside = |root: &std::path::PathBuf| {
            root.canonicalize().is_ok_and(|root| real.starts_with(root))
        };
        if self.world.grants.read.iter().any(inside) {
            return Ok(real);
        }
        if let Some(withheld) = &self.world.withheld {
            return Err(withheld.unread(name, scope, at));
        }
        let message = format!("permission denied: this script may not read `{name}`");
        let finding = scope.source.error(ErrorKind::Denied.code(), message, at);
        let finding = finding.help("allow it with `--allow-read FOLDER`");
        Err(ScriptError::new(ErrorKind::Denied, finding))
    }
}

/// Maximum number of entries that a listing visits.
const MOST_ENTRIES: usize = 100_000;

/// Lists the names in a folder. With `deep`, also lists files in subfolders, by relative path.
/// Links to folders are not followed, because they may lead outside the granted folder.
fn listed(root: &Path, deep: bool, names: &mut Vec<String>) -> std::io::Result<()> {
    let mut folders = vec![(root.to_owned(), String::new())];
    while let Some((folder, before)) = folders.pop() {
        for entry in std::fs::read_dir(&folder)?.flatten() {
            if names.len() + folders.len() >= MOST_ENTRIES {
                let why = format!("too many entries (limit {MOST_ENTRIES})");
                return Err(std::io::Error::other(why));
            }
            let name = format!("{before}{}", entry.file_name().to_string_lossy());
            if deep && entry.file_type()?.is_dir() {
                folders.push((entry.path(), format!("{name}/")))
            } else {
                names.push(name)
            }
        }
    }
    Ok(())
}

fn text_of(bytes: &[u8], name: &str, scope: &NameScope, at: Span) -> DirectiveResult {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(Value::from(text))),
        Err(_) => Err(refuse(scope, at, format!("`{name}` is not a text file"))),
    }
}

fn not_read(name: &str, problem: &std::io::Error, scope: &NameScope, at: Span) -> ScriptError {
    let finding = scope.source.error(
        ErrorKind::NotFound.code(),
        format!("cannot read `{name}`: {problem}"),
        at,
    );
    ScriptError::new(ErrorKind::NotFound, finding)
}
