//! Syntax tokens and completion items for editors.

use memchr::memmem;
use quillet_core::TokenKind;

use super::lexer::{Kind, Lexer};
use crate::editor::{
    CompletionItem, CompletionList, CompletionSpot, ExternalNames, MOST_FAULTS, TokenScan,
};

/// The left delimiter of an action.
const ACTIONS: &[&str] = &[
    "if", "range", "with", "else", "end", "template", "block", "define", "break", "continue",
];

/// Returns the tokens of a text. After an error, scanning continues at the next delimiter.
pub(super) fn scan(text: &str) -> TokenScan {
    let mut scan = TokenScan::default();
    let mut from = 0;
    for _ in 0..MOST_FAULTS {
        let Some(fault) = part(text, from, &mut scan) else {
            break;
        };
        let rest = text.as_bytes().get(fault..).unwrap_or_default();
        let Some(next) = memmem::find(rest, b"{{") else {
            break;
        };
        from = fault + next;
    }
    scan
}

/// Reads up to the end of the text or an error. Returns where to search for the next delimiter.
fn part(text: &str, from: usize, scan: &mut TokenScan) -> Option<usize> {
    let source = text.get(from..)?;
    scan.open = None;
    let mut lexer = Lexer::new(source);
    let mut comments = 0;
    // These are the kind and the end of the previous token.
    let mut last = (Kind::Text, 0);
    loop {
        let token = lexer.next_token();
        // Comments are not tokens, so the skipped comments before this token are added here.
        for span in lexer.comments().get(comments..).unwrap_or_default() {
            let (start, end) = comment(source, span.start - 2, span.end + 2);
            scan.add(from + start, from + end, TokenKind::Comment);
        }
        comments = lexer.comments().len();
        let (start, end) = (token.start, token.end);
        let kind = match token.kind {
            Kind::Eof => return None,
            Kind::Error => {
                if lexer.error.as_deref() != Some("unclosed action") {
                    scan.open = None;
                }
                // The scan continues one byte after the start of the invalid tag, so the tag is not
                // read again.
                let next = start + 1;
                return (start < source.len()).then_some(from + next);
            }
            Kind::LeftDelim => {
                let marker = source.get(end..).is_some_and(|rest| {
                    rest.starts_with("- ")
                        || rest.starts_with("-\t")
                        || rest.starts_with("-\n")
                        || rest.starts_with("-\r")
                });
                scan.begin(from + start, from + end + usize::from(marker));
                None
            }
            Kind::RightDelim => {
                let marker = start > last.1 && source.as_bytes().get(start - 1) == Some(&b'-');
                scan.end(from + start - usize::from(marker), from + end);
                None
            }
            Kind::Text | Kind::Space => None,
            // After the root `$`, the following field is the name of the variable.
            Kind::Field if last == (Kind::Variable, start) && is_root(source, start) => {
                Some(TokenKind::Variable)
            }
            Kind::Field if last.1 == start && has_fields(last.0) => Some(TokenKind::Property),
            Kind::Field | Kind::Variable | Kind::Dot => Some(TokenKind::Variable),
            Kind::Identifier => Some(TokenKind::Function),
            Kind::Number | Kind::Complex => Some(TokenKind::Number),
            Kind::String | Kind::RawString | Kind::CharConstant => Some(TokenKind::String),
            Kind::Bool => Some(TokenKind::Keyword),
            kind if kind.is_keyword() => Some(TokenKind::Keyword),
            _ => Some(TokenKind::Operator),
        };
        if let Some(kind) = kind {
            scan.add(from + start, from + end, kind);
        }
        last = (token.kind, end);
    }
}

/// Whether the variable that ends at an offset is the root `$`.
fn is_root(source: &str, at: usize) -> bool {
    source.get(..at).is_some_and(|before| before.ends_with('$'))
}

/// Whether a field directly after a token of this kind belongs to it.
fn has_fields(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Field | Kind::Variable | Kind::RightParen | Kind::Identifier
    )
}

/// Returns the span of the comment tag between two offsets, including its delimiters.
fn comment(source: &str, start: usize, end: usize) -> (usize, usize) {
    let before = if source[..start].ends_with("{{") {
        2
    } else {
        4
    };
    let after = if source[end..].starts_with("}}") {
        2
    } else {
        4
    };
    // The last comment may be unclosed, so it may have no closing delimiter.
    (
        start.saturating_sub(before),
        (end + after).min(source.len()),
    )
}

/// Returns the completion items at a byte offset. `own` are the format's native functions.
pub(super) fn completions(
    text: &str,
    at: usize,
    names: &ExternalNames<'_>,
    own: &[&str],
) -> Vec<CompletionItem> {
    let Some(spot) = CompletionSpot::find(text, at, scan) else {
        return Vec::new();
    };
    let mut list = CompletionList::new(spot.span);
    match spot.before() {
        Some((TokenKind::Operator, "|")) => list.functions(names, own, "built-in function"),
        Some((TokenKind::Keyword, "else")) => list.keywords("action", &["if", "with"]),
        Some((
            TokenKind::Keyword,
            "template" | "block" | "define" | "end" | "break" | "continue",
        )) => {}
        before => {
            let fields = names.variables.iter().map(|name| format!(".{name}"));
            list.add(TokenKind::Variable, "variable", fields);
            let declared = spot
                .names_before(TokenKind::Variable)
                .filter(|name| name.len() > 1 && name.starts_with('$'));
            list.add(TokenKind::Variable, "variable", declared);
            list.functions(names, own, "built-in function");
            match before {
                None => list.keywords("action", ACTIONS),
                Some(_) => list.keywords("value", &["true", "false", "nil"]),
            }
        }
    }
    list.done()
}
