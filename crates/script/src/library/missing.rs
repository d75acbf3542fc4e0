//! A script that must be there.

use std::sync::Arc;

use quillet_core::{Diagnostic, Span, nearest};

use super::Library;
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::{Script, ScriptSource};

/// The script of a name that stands at a place of another script.
///
/// # Errors
/// Kind `NotFound` with the nearest id where there is none, or what the library says; always with
/// the place.
pub async fn demand(
    library: &dyn Library,
    name: &str,
    from: &ScriptSource,
    at: Span,
) -> Result<Arc<Script>, ScriptError> {
    match library.find(name, Some(from)).await {
        Ok(Some(script)) => Ok(script),
        Ok(None) => {
            let found = not_found(library, name, from, at);
            Err(ScriptError::new(ErrorKind::NotFound, found))
        }
        Err(error) => Err(placed(error, from, at)),
    }
}

/// What to say of a script that there is not.
pub(super) fn not_found(
    library: &dyn Library,
    name: &str,
    from: &ScriptSource,
    at: Span,
) -> Diagnostic {
    let found = from.error(
        ErrorKind::NotFound.code(),
        format!("unknown script {name:?}"),
        at,
    );
    let ids = library.ids();
    match nearest(name, ids.iter().map(String::as_str)) {
        Some(id) => found.help(format!("did you mean {id}?")),
        None => found.help("add its folder with -I"),
    }
}

/// Gives a diagnostic about a name the place where the name stands.
fn placed(mut error: ScriptError, from: &ScriptSource, at: Span) -> ScriptError {
    if let Some(first) = error.diagnostics.first_mut()
        // A diagnostic that has a place is about the found script itself, and keeps it.
        && first.span.is_none()
    {
        first.source.clone_from(&from.name);
        *first = first.clone().at(&from.text, at);
    }
    error
}
