//! Directives about files: `$readFile`, `$isDir`, `$listFilenames`. Nothing is read that nobody granted.

use std::path::Path;
use std::sync::Arc;

use quillet_core::{Span, Value};

use super::directives::Outcome;
use super::instance::Instance;
use super::params::Params;
use super::scope::Scope;
use super::values::refuse;
use crate::error::{ErrorKind, ScriptError};

impl Instance {
    pub(super) async fn read_file(
        self: &Arc<Self>,
        params: &Params,
        scope: &Scope,
        at: Span,
    ) -> Outcome {
        let Some(name) = params.text("path", 0) else {
            return Err(refuse(scope, at, "`$readFile` lacks `path`"));
        };
        // The path is the caller's: a library script reads beside whoever asked it.
        let asker = self.caller.as_deref().unwrap_or(self);
        let source = &asker.resolved.script.source;
        let found = self.world.engine.library.file(name, Some(source)).await;
        let found = found.map_err(|mut error| {
            self.locate(&mut error, scope, at);
            error
        })?;
        if let Some(bytes) = found {
            return text_of(&bytes, name, scope, at);
        }
        let path = self.granted_path(name, scope, at)?;
        let waiting = self.world.budget.waiting();
        let read = tokio::fs::read(&path).await;
        drop(waiting);
        let bytes = read.map_err(|problem| not_read(name, &problem, scope, at))?;
        text_of(&bytes, name, scope, at)
    }

    pub(super) fn is_folder(&self, params: &Params, scope: &Scope, at: Span) -> Outcome {
        let name = params.text("path", 0).unwrap_or_default();
        let path = self.granted_path(name, scope, at);
        Ok(Some(Value::Bool(path.is_ok_and(|path| path.is_dir()))))
    }

    pub(super) fn list_files(&self, params: &Params, scope: &Scope, at: Span) -> Outcome {
        let name = params.text("path", 0).unwrap_or(".");
        let path = self.granted_path(name, scope, at)?;
        let entries =
            std::fs::read_dir(&path).map_err(|problem| not_read(name, &problem, scope, at))?;
        let suffix = params
            .text("pattern", 1)
            .map(|pattern| pattern.trim_start_matches('*'));
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| suffix.is_none_or(|suffix| name.ends_with(suffix)))
            .collect();
        names.sort();
        Ok(Some(Value::from(
            names.into_iter().map(Value::from).collect::<Vec<_>>(),
        )))
    }

    /// A path that the script was allowed to read, links followed.
    fn granted_path(
        &self,
        name: &str,
        scope: &Scope,
        at: Span,
    ) -> Result<std::path::PathBuf, ScriptError> {
        let folder = self
            .resolved
            .script
            .source
            .path
            .as_deref()
            .and_then(Path::parent);
        let path = folder.unwrap_or(Path::new(".")).join(name);
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
        let message = format!("nobody allowed this script to read `{name}`");
        let finding = scope.source.error(ErrorKind::Denied.code(), message, at);
        let finding = finding.help("allow it with `--allow-read FOLDER`");
        Err(ScriptError::new(ErrorKind::Denied, finding))
    }
}

fn text_of(bytes: &[u8], name: &str, scope: &Scope, at: Span) -> Outcome {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(Value::from(text))),
        Err(_) => Err(refuse(scope, at, format!("`{name}` is not a text file"))),
    }
}

fn not_read(name: &str, problem: &std::io::Error, scope: &Scope, at: Span) -> ScriptError {
    let finding = scope.source.error(
        ErrorKind::NotFound.code(),
        format!("`{name}` cannot be read: {problem}"),
        at,
    );
    ScriptError::new(ErrorKind::NotFound, finding)
}
