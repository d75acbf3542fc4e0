//! Parses script files.

use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::{Severity, Span};

use crate::error::{ErrorKind, ScriptError};
use crate::reader;
use crate::syntax::{Script, ScriptSource};

/// Parses a script file. Warnings are omitted; `quillet check` reports them.
pub(super) fn script(
    name: String,
    path: Option<PathBuf>,
    bytes: Vec<u8>,
) -> Result<Arc<Script>, ScriptError> {
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(&name, &error))?;
    let text = text.into();
    text_of(ScriptSource { name, path, text })
}

/// Parses the text of a script.
pub(super) fn text_of(source: ScriptSource) -> Result<Arc<Script>, ScriptError> {
    let read = reader::read(Arc::new(source));
    let is_error = |severity| severity == Severity::Error;
    if !read
        .diagnostics
        .iter()
        .any(|found| is_error(found.severity))
    {
        return Ok(Arc::new(read.script));
    }
    let mut diagnostics = read.diagnostics;
    diagnostics.retain(|found| is_error(found.severity));
    Err(ScriptError {
        kind: ErrorKind::Script,
        diagnostics,
        chain: Vec::new(),
        partial: None,
        model: None,
    })
}

fn not_utf8(name: &str, error: &std::string::FromUtf8Error) -> ScriptError {
    let valid = error.utf8_error().valid_up_to();
    let start = String::from_utf8_lossy(&error.as_bytes()[..valid]);
    let source = ScriptSource {
        name: name.to_owned(),
        path: None,
        text: start.into(),
    };
    let at = Span {
        start: valid,
        end: valid,
    };
    let found = source.error("script.encoding", "invalid UTF-8 from here", at);
    ScriptError::new(ErrorKind::Script, found.help("save the file as UTF-8"))
}
