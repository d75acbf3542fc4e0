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

/// Returns the tokens of a text; after an error, those from the next delimiter on.
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

/// Reads from a byte to the end or to an error, and returns where to look for the next delimiter.
fn part(text: &str, from: usize, scan: &mut TokenScan) -> Option<usize> {
    let source = text.get(from..)?;
    scan.open = None;
    let mut lexer = Lexer::new(source);
    let mut comments = 0;
    // Kind of the previous token, and its end.
    let mut last = (Kind::Text, 0);
    loop {
        let token = lexer.next_token();
        // A comment is not a token: skipped comments precede this token.
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
                // Continues one byte later, so a tag that is invalid at its start is not read
                // again.
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
            // After `$`, the root of all variables, the following field is the variable.
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

/// Whether the variable that ends at a byte is `$`.
fn is_root(source: &str, at: usize) -> bool {
    source.get(..at).is_some_and(|before| before.ends_with('$'))
}

/// Whether a directly following field belongs to the preceding operand.
fn has_fields(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Field | Kind::Variable | Kind::RightParen | Kind::Identifier
    )
}

/// Returns the span of the comment tag between two bytes, with its delimiters.
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
    // The last comment may be unclosed.
    (
        start.saturating_sub(before),
        (end + after).min(source.len()),
    )
}

/// Returns the completion items at a byte; `own` are the format's native functions.
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
