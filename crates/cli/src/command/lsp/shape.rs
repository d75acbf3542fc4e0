//! Converts results to the types of the protocol.

use quillet_core::{Diagnostic, Severity, Span};
use quillet_script::editor::position::{EditorPosition, Encoding, LineIndex};
use quillet_script::editor::{
    CompletionItem, CompletionKind, Hover, SourceLocation, Symbol, SymbolKind, related,
};
use serde_json::{Value, json};

use super::documents::{DocumentKind, OpenDocument};
use super::uri;

fn position(position: EditorPosition) -> Value {
    json!({"line": position.line, "character": position.character})
}

/// Converts a span to a range.
pub(super) fn range(open: &OpenDocument, span: Span) -> Value {
    let (start, end) = open.positions(span);
    json!({"start": position(start), "end": position(end)})
}

/// Converts a diagnostic. If it is about another file, it is shown at the start of the document and
/// names that file.
pub(super) fn diagnostic(open: &OpenDocument, found: &Diagnostic) -> Value {
    let own = found.source == open.source.name;
    let span = found.span.filter(|_| own).unwrap_or_default();
    let severity = match found.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
    };
    let mut message = if own {
        found.message.clone()
    } else {
        found.to_string()
    };
    if let Some(help) = found.help.as_ref().filter(|_| own) {
        message += &format!("\n{help}");
    }
    let mut out = json!({
        "range": range(open, span),
        "severity": severity,
        "code": found.code,
        "source": "quillet",
        "message": message,
    });
    let place = match open.kind {
        DocumentKind::Script if own => related(open.document(), found),
        _ => None,
    };
    if let Some((span, why)) = place {
        let location = json!({"uri": &*open.uri, "range": range(open, span)});
        out["relatedInformation"] = json!([{"location": location, "message": why}]);
    }
    out
}

pub(super) fn hover(open: &OpenDocument, found: &Hover) -> Value {
    json!({
        "contents": {"kind": "markdown", "value": found.markdown},
        "range": range(open, found.span),
    })
}

pub(super) fn completion(open: &OpenDocument, found: &CompletionItem) -> Value {
    let kind = match found.kind {
        CompletionKind::Directive => 14,
        CompletionKind::Function => 3,
        CompletionKind::Key => 10,
        CompletionKind::Pattern => 24,
        CompletionKind::Role => 20,
        CompletionKind::Script => 17,
        CompletionKind::Tool => 9,
        CompletionKind::Value => 12,
        CompletionKind::Variable => 6,
    };
    let mut out = json!({
        "label": found.label,
        "kind": kind,
        "detail": found.detail,
        "textEdit": {"range": range(open, found.span), "newText": found.insert},
    });
    if !found.doc.is_empty() {
        out["documentation"] = json!({"kind": "markdown", "value": found.doc});
    }
    out
}

/// Converts a location, which may be in another file.
pub(super) fn location(place: &SourceLocation, encoding: Encoding) -> Value {
    let text = &place.source.text;
    let lines = LineIndex::new(text, encoding);
    let at = |byte| position(lines.position(text, byte));
    let range = json!({"start": at(place.span.start), "end": at(place.span.end)});
    let uri = match &place.source.path {
        Some(path) => uri::of(path),
        None => place.source.name.clone(),
    };
    json!({"uri": uri, "range": range})
}

pub(super) fn symbol(open: &OpenDocument, found: &Symbol) -> Value {
    let kind = match found.kind {
        SymbolKind::Dialogue => 3,
        SymbolKind::Key => 20,
        SymbolKind::Message => 15,
        SymbolKind::Call => 6,
        SymbolKind::Function => 12,
    };
    let children: Vec<Value> = found
        .children
        .iter()
        .map(|child| symbol(open, child))
        .collect();
    // The protocol has no symbols without a name.
    let name = if found.name.is_empty() {
        "…"
    } else {
        &found.name
    };
    json!({
        "name": name,
        "detail": found.detail,
        "kind": kind,
        "range": range(open, found.span),
        "selectionRange": range(open, found.name_span),
        "children": children,
    })
}

/// Converts a span to a folding range of whole lines, without a blank end.
pub(super) fn fold(open: &OpenDocument, span: Span) -> Option<Value> {
    let written = open.source.text.get(span.start..span.end)?;
    let end = span.start + written.trim_end().len();
    let (start, end) = open.positions(Span {
        start: span.start,
        end,
    });
    (start.line < end.line).then(|| json!({"startLine": start.line, "endLine": end.line}))
}

/// Creates one edit that replaces the whole document.
pub(super) fn rewrite(open: &OpenDocument, text: &str) -> Value {
    // An edit that changes nothing would mark the document as modified.
    if *open.source.text == *text {
        return json!([]);
    }
    let end = open.source.text.len();
    json!([{"range": range(open, Span { start: 0, end }), "newText": text}])
}
