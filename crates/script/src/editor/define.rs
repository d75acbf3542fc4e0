//! Where something is declared, and where else it is named.

use std::sync::Arc;

use quillet_core::Span;

use super::names::{MarkKind, NamedSymbol, mark_at, marks};
use super::role_script::role_script;
use super::{EditorContext, ScriptDocument};
use crate::library::import::bare_name;
use crate::library::resolve;
use crate::syntax::{Script, ScriptSource};

/// Bytes of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Which script.
    pub source: Arc<ScriptSource>,
    /// The bytes.
    pub span: Span,
}

/// Where what stands at a byte is declared: a function, a script's file, where a variable is set
/// first.
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
                // A call without a function of that name may name a script or an imported one.
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

/// The script of a name, at its beginning.
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

/// The function of a name: of the document itself, or one that it inherits.
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
    // From the script itself up to its oldest parent: the nearest declaration is the one that runs.
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

/// Where a variable gets a value first; the front matter comes before all.
pub(super) fn first_assignment(document: &ScriptDocument, name: &str) -> Option<Span> {
    let sets = |mark: &NamedSymbol| matches!(&mark.kind, MarkKind::Variable { name: other, sets: true } if other == name);
    let spans = marks(document, None)
        .into_iter()
        .filter(sets)
        .map(|mark| mark.span);
    spans.min_by_key(|span| span.start)
}

/// Where else in the document the same variable, function, script or role is named, by place.
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
    // A key and its variable can have the same span.
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

/// The bytes to write a new name over, where a variable stands; `None` where none does, and for a
/// name that could not be one.
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
    // A place that is not just the name (escapes in a quoted text) cannot be written over.
    let exact = |span: &Span| document.text().get(span.start..span.end) == Some(old);
    spans.iter().all(exact).then_some(spans)
}
