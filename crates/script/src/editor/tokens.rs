//! Semantic tokens of a script.

use quillet_core::{SemanticToken, Span, TokenKind, token};

use super::ScriptDocument;
use super::names::{MarkKind, NamedSymbol, marks_and_tokens};
use crate::directive::Directive;

/// Returns the semantic tokens of a script. These are YAML keys, values and comments, and the
/// language elements inside values: directives, functions, scripts, variables, roles, holes and
/// templates in the format that the front matter sets. Tokens are in order, do not overlap, and
/// start and end at character boundaries.
///
/// A scalar that YAML changes by escapes or folding has only a YAML token. The number of tokens is
/// limited, per scalar and in total. Beyond these limits, scalars have only YAML tokens.
///
/// ```
/// use std::sync::Arc;
/// use quillet_script::editor::{ScriptDocument, tokens};
/// use quillet_script::syntax::ScriptSource;
///
/// let text = "user: Hi {{ name }}\n$print: ok\n";
/// let source = ScriptSource { name: "a.ai.yaml".into(), path: None, text: text.into() };
/// let tokens = tokens(&ScriptDocument::new(Arc::new(source)));
/// let shown = tokens.iter().map(|token| (&text[token.span.start..token.span.end], token.kind.name()));
/// assert_eq!(shown.collect::<Vec<_>>(), [
///     ("user", "role"),
///     ("Hi ", "string"),
///     ("{{", "delimiter"),
///     (" ", "string"),
///     ("name", "variable"),
///     (" ", "string"),
///     ("}}", "delimiter"),
///     ("$print", "keyword"),
///     ("ok", "string"),
/// ]);
/// ```
#[must_use]
pub fn tokens(document: &ScriptDocument) -> Vec<SemanticToken> {
    let text = document.text();
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let (marks, templates) = marks_and_tokens(document);
    let mut named = Vec::with_capacity(marks.len());
    for mark in marks {
        add(text, &mark, &mut named);
    }
    let yaml = quillet_yaml::tokens(text, whole);
    let named = token::normalize(text, named);
    let templates = token::normalize(text, templates);
    token::overlay(&token::overlay(&yaml, &named), &templates)
}

fn add(text: &str, mark: &NamedSymbol, found: &mut Vec<SemanticToken>) {
    let (start, end) = (mark.span.start, mark.span.end);
    let written = text.get(start..end).unwrap_or_default();
    let (name, kind) = match &mark.kind {
        MarkKind::Call(name) => match Directive::named(name) {
            Some(_) => (name, TokenKind::Keyword),
            None => (name, TokenKind::Function),
        },
        MarkKind::Function(name) | MarkKind::Script(name) => (name, TokenKind::Function),
        MarkKind::Variable { name, .. } => (name, TokenKind::Variable),
        MarkKind::Role(name) => (name, TokenKind::Role),
        MarkKind::Pattern(pattern) => (pattern, TokenKind::Operator),
        MarkKind::Hole(_) => return hole(written, start, found),
        // Keys are YAML tokens already, and expressions are string tokens.
        MarkKind::Key(_) | MarkKind::Regex => return,
    };
    // If the YAML parser changed a text, the mark covers the whole text instead of the name.
    let signs = written.len().saturating_sub(name.len());
    if written.contains(name.as_str()) && signs <= MOST_SIGNS {
        // The `$` of a call is not part of its mark.
        let is_call = matches!(mark.kind, MarkKind::Call(_));
        let before = text.get(..start).unwrap_or_default();
        let sign = usize::from(is_call && before.ends_with('$'));
        found.push(SemanticToken::new(start - sign, end, kind));
    }
}

/// Maximum number of bytes in a mark besides its name: `$`, `ai:`, quotes.
const MOST_SIGNS: usize = 4;

/// Adds the delimiters `[[` and `]]`.
fn hole(written: &str, start: usize, found: &mut Vec<SemanticToken>) {
    if written.starts_with("[[") && written.ends_with("]]") && written.len() >= 4 {
        let end = start + written.len();
        found.push(SemanticToken::new(start, start + 2, TokenKind::Delimiter));
        found.push(SemanticToken::new(end - 2, end, TokenKind::Delimiter));
    }
}
