//! Lookup of required scripts.

use std::sync::Arc;

use quillet_core::{Diagnostic, Span, nearest};

use super::Library;
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::{Script, ScriptSource};

/// Finds a script by the name that another script uses for it.
///
/// Returns an error of kind `NotFound`, which suggests the most similar id, or an error of the
/// library. The error always contains the location of the name.
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

/// Returns the error for a script that does not exist.
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

/// Adds the location of the name to a diagnostic about it.
fn placed(mut error: ScriptError, from: &ScriptSource, at: Span) -> ScriptError {
    if let Some(first) = error.diagnostics.first_mut()
        // A diagnostic with a location refers to the found script, so its location is not changed.
        && first.span.is_none()
    {
        first.source.clone_from(&from.name);
        *first = first.clone().at(&from.text, at);
    }
    error
}
