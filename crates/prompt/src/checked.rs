//! Parsing of stored JSON definitions, with diagnostics and locations.

use quillet_core::{Diagnostic, LineColumn, Span};
use serde_json::{Map as Object, Value as Tree};

/// A parsed definition and its warnings, or all errors of an invalid definition.
pub type CheckResult<T> = Result<(T, Vec<Diagnostic>), Vec<Diagnostic>>;

/// Parses a JSON object; a syntax error includes its location.
pub(crate) fn parse_object(
    source: &str,
    text: &str,
) -> Result<Object<String, Tree>, Vec<Diagnostic>> {
    let broken = |message: String| Diagnostic::error("definition.json", source, message);
    match serde_json::from_str(text) {
        Ok(Tree::Object(object)) => Ok(object),
        Ok(_) => Err(vec![broken("the definition must be a JSON object".into())]),
        Err(error) => {
            let mut found = broken(format!("not JSON: {error}"));
            found.position = Some(LineColumn {
                line: error.line().max(1),
                column: error.column().max(1),
            });
            Err(vec![found])
        }
    }
}

/// Creates a diagnostic at a key. The key is found by searching the text: serde keeps no locations,
/// and the first `"key"` followed by a colon is nearly always the right one.
pub(crate) fn located(
    code: &'static str,
    source: &str,
    text: &str,
    key: &str,
    message: String,
) -> Diagnostic {
    let found = Diagnostic::error(code, source, message);
    let quoted = format!("\"{key}\"");
    match text.find(&quoted) {
        Some(start) => found.at(
            text,
            Span {
                start,
                end: start + quoted.len(),
            },
        ),
        None => found,
    }
}
