//! Finds definitions of and references to symbols.

use std::sync::Arc;

use quillet_core::Span;

use super::names::{MarkKind, NamedSymbol, mark_at, marks};
use super::role_script::role_script;
use super::{EditorContext, ScriptDocument};
use crate::library::import::bare_name;
use crate::library::resolve;
use crate::syntax::{Script, ScriptSource};

/// A location in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The script.
    pub source: Arc<ScriptSource>,
    /// The byte range.
    pub span: Span,
}

/// Finds the definition of the symbol at a byte offset: a function, a script file, or the first
/// assignment of a variable.
pub async fn definition(
    document: &ScriptDocument,
    at: usize,
    around: EditorContext<'_>,
) -> Option<SourceLocation> {
    let mark = mark_at(document, at)?;
    match mark.kind {
        MarkKind::Variable { name, .. } => {
            let span = first_assignment(document, &name)?;
            let source = document.source.clone();
            Some(SourceLocation { source, span })
        }
        MarkKind::Call(name) | MarkKind::Function(name) => {
            match function_place(document, &name, around).await {
                Some(place) => Some(place),
                // Without a function of this name, the call may refer to an imported script or
                // another script.
                None => script_place(document, &name, around).await,
            }
        }
        MarkKind::Script(name) => match script_place(document, &name, around).await {
            Some(place) => Some(place),
            None => function_place(document, &name, around).await,
        },
        MarkKind::Role(name) => {
            let script = role_script(&document.script, &name)?;
            script_place(document, script, around).await
        }
        MarkKind::Key(_) | MarkKind::Pattern(_) | MarkKind::Regex | MarkKind::Hole(_) => None,
    }
}

/// Returns the start of the script with a name.
async fn script_place(
    document: &ScriptDocument,
    name: &str,
    around: EditorContext<'_>,
) -> Option<SourceLocation> {
    let found = around.library.find(name, Some(&document.source)).await;
    let source = found.ok()??.source.clone();
    // Built-in scripts have no file that an editor could open.
    source.path.as_ref()?;
    let span = Span::default();
    Some(SourceLocation { source, span })
}

/// Returns the location of a function in the document or in a parent.
pub(super) async fn function_place(
    document: &ScriptDocument,
    name: &str,
    around: EditorContext<'_>,
) -> Option<SourceLocation> {
    if let Some(span) = declared(&document.script, name) {
        let source = document.source.clone();
        return Some(SourceLocation { source, span });
    }
    let resolved = resolve(document.script.clone(), around.library)
        .await
        .ok()?;
    // From the script to its oldest parent, because the nearest declaration is the one that runs.
    let mut bodies = resolved.bodies.iter().rev();
    bodies.find_map(|script| {
        let source = script.source.clone();
        declared(script, name).map(|span| SourceLocation { source, span })
    })
}

fn declared(script: &Script, name: &str) -> Option<Span> {
    let name = name.split('.').next().unwrap_or(name);
    let mut functions = script.functions.iter();
    let found = functions.find(|function| bare_name(&function.name) == bare_name(name))?;
    let written = script.source.text.get(found.span.start..found.span.end)?;
    let start = found.span.start + written.find(&found.name)?;
    let end = start + found.name.len();
    Some(Span { start, end })
}

/// Returns the first assignment of a variable. The front matter comes first.
pub(super) fn first_assignment(document: &ScriptDocument, name: &str) -> Option<Span> {
    let sets = |mark: &NamedSymbol| matches!(&mark.kind, MarkKind::Variable { name: other, sets: true } if other == name);
    let spans = marks(document, None)
        .into_iter()
        .filter(sets)
        .map(|mark| mark.span);
    spans.min_by_key(|span| span.start)
}

/// Returns all occurrences of the variable, function, script or role at a byte offset, in order.
#[must_use]
pub fn references(document: &ScriptDocument, at: usize) -> Vec<Span> {
    let Some(found) = mark_at(document, at) else {
        return Vec::new();
    };
    let same = marks(document, None)
        .into_iter()
        .filter(|mark| same(&mark.kind, &found.kind));
    let mut spans: Vec<Span> = same.map(|mark| mark.span).collect();
    spans.sort_by_key(|span| span.start);
    // The mark of a key and the mark of its variable can have the same span.
    spans.dedup();
    spans
}

fn same(one: &MarkKind, other: &MarkKind) -> bool {
    match (one, other) {
        (MarkKind::Variable { name, .. }, MarkKind::Variable { name: other, .. }) => name == other,
        (
            MarkKind::Call(name) | MarkKind::Function(name),
            MarkKind::Call(other) | MarkKind::Function(other),
        ) => name == other,
        (MarkKind::Script(name), MarkKind::Script(other)) => name == other,
        (MarkKind::Role(name), MarkKind::Role(other)) => name == other,
        _ => false,
    }
}

/// Returns the spans to replace to rename the variable at a byte offset. Returns `None` if no
/// variable is at this offset, or if the new name is invalid.
#[must_use]
pub fn rename(document: &ScriptDocument, at: usize, name: &str) -> Option<Vec<Span>> {
    let mark = mark_at(document, at)?;
    let MarkKind::Variable { name: old, .. } = &mark.kind else {
        return None;
    };
    let fits = |c: char| c.is_alphanumeric() || c == '_';
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') || !name.chars().all(fits) {
        return None;
    }
    let spans = references(document, at);
    // If the source text of the span is not exactly the name, for example because of escapes, it
    // cannot be replaced.
    let exact = |span: &Span| document.text().get(span.start..span.end) == Some(old);
    spans.iter().all(exact).then_some(spans)
}
