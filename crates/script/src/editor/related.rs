//! Related locations of diagnostics.

use quillet_core::{Diagnostic, Span};

use super::ScriptDocument;
use super::names::{MarkKind, NamedSymbol, marks};
use crate::library::import::bare_name;

/// Returns the place where the name that a diagnostic suggests (`did you mean …?`) is declared,
/// with a message.
#[must_use]
pub fn related(document: &ScriptDocument, finding: &Diagnostic) -> Option<(Span, String)> {
    let name = finding
        .help
        .as_deref()
        .and_then(|help| help.strip_prefix("did you mean ")?.strip_suffix('?'))?;
    let name = bare_name(name);
    let span = finding.span;
    let declares = |mark: &NamedSymbol| match &mark.kind {
        MarkKind::Variable { name: other, sets } => *sets && other == name,
        MarkKind::Function(other) => other == name,
        _ => false,
    };
    let found = marks(document, None).into_iter().filter(declares);
    let place = found
        .map(|mark| mark.span)
        .min_by_key(|place| place.start)?;
    (Some(place) != span).then(|| (place, format!("{name} is declared here")))
}
