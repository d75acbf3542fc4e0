//! Syntax tokens of YAML for editors.

use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, options};
use quillet_core::{SemanticToken, Span, TokenKind, Value, token};

use crate::scalar;

/// Maximum number of errors after which scanning continues. Each may cost a scan of the rest.
const MOST_FAULTS: usize = 100;

/// Maximum nesting.
const MOST_DEPTH: usize = 60;

/// Returns the YAML tokens in a part of a file, ordered and disjoint. Keys are
/// [`TokenKind::Property`], document separators are [`TokenKind::Delimiter`], tags and anchors are
/// [`TokenKind::Keyword`], and the kind of a value depends on its type. After an error, tokens
/// continue at the next line that is not indented. This happens at most a hundred times. The result
/// is empty if the part splits a character or is outside the file.
///
/// ```
/// use quillet_core::{Span, TokenKind};
///
/// let text = "name: Ada # who\nage: 36\n";
/// let tokens = quillet_yaml::tokens(text, Span { start: 0, end: text.len() });
/// let shown: Vec<_> = tokens
///     .iter()
///     .map(|token| (&text[token.span.start..token.span.end], token.kind))
///     .collect();
/// assert_eq!(shown, [
///     ("name", TokenKind::Property),
///     ("Ada", TokenKind::String),
///     ("# who", TokenKind::Comment),
///     ("age", TokenKind::Property),
///     ("36", TokenKind::Number),
/// ]);
/// ```
#[must_use]
pub fn tokens(text: &str, part: Span) -> Vec<SemanticToken> {
    let Some(text) = text.get(part.start..part.end) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..MOST_FAULTS {
        let Some(fault) = read(text, from, &mut found) else {
            break;
        };
        // The position advances at least past the start of this attempt, so every attempt makes
        // progress.
        let Some(next) = next_line(text, fault.max(from)) else {
            break;
        };
        from = next;
    }
    let mut found = token::normalize(text, found);
    // Comments are found after sorting, because a `#` inside a token does not start one.
    let comments = comments(text, &found);
    found.extend(comments);
    let found = token::normalize(text, found);
    found
        .into_iter()
        .map(|token| token.offset(part.start))
        .collect()
}

/// Reads from a byte to the end, or to an error; returns the end of the last event before it.
fn read(text: &str, from: usize, found: &mut Vec<SemanticToken>) -> Option<usize> {
    let rest = text.get(from..)?;
    let settings = options! {
        emit_comments: false,
        emit_anchor_events: true,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MOST_DEPTH,
        block_nesting_limit: MOST_DEPTH,
    };
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut end = from;
    for event in Parser::new_from_str_with_options(rest, settings) {
        let Ok((event, span)) = event else {
            // The parser cannot continue after an error; the caller tries again at the next line.
            return Some(end);
        };
        let range = span.byte_range().unwrap_or_default();
        let tag = span.tag_span().and_then(|tag| tag.byte_range());
        if let Some(tag) = tag {
            found.push(SemanticToken::new(
                from + tag.start,
                from + tag.end,
                TokenKind::Keyword,
            ));
        }
        let range = from + range.start..from + range.end;
        match event {
            Event::Scalar(value, style, ..) => {
                let kind = if is_key(&mut open) {
                    TokenKind::Property
                } else {
                    kind(&value, style)
                };
                let raw = text.get(range.clone()).unwrap_or_default();
                found.push(SemanticToken::new(
                    range.start,
                    range.start + raw.trim_end().len(),
                    kind,
                ));
                end = range.end;
            }
            Event::SequenceStart(..) => {
                // A collection can also be a key, so this flips the state of the enclosing mapping.
                is_key(&mut open);
                open.push(OpenContainer::List);
            }
            Event::MappingStart(..) => {
                is_key(&mut open);
                open.push(OpenContainer::Map { key: true });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                is_key(&mut open);
                found.push(SemanticToken::new(
                    range.start,
                    range.end,
                    TokenKind::Variable,
                ));
                end = range.end;
            }
            Event::Anchor(..) => {
                found.push(SemanticToken::new(
                    range.start,
                    range.end,
                    TokenKind::Keyword,
                ));
            }
            Event::DocumentStart(..) | Event::DocumentEnd => {
                // Implicit documents have empty spans.
                let written = text.get(range.clone()).unwrap_or_default();
                if matches!(written, "---" | "...") {
                    found.push(SemanticToken::new(
                        range.start,
                        range.end,
                        TokenKind::Delimiter,
                    ));
                }
            }
            _ => {}
        }
    }
    None
}

/// An open collection.
enum OpenContainer {
    List,
    Map {
        /// Whether a key comes next.
        key: bool,
    },
}

/// Returns whether the next node is a key, and flips the state for the node after it.
fn is_key(open: &mut [OpenContainer]) -> bool {
    match open.last_mut() {
        Some(OpenContainer::Map { key }) => {
            // The state is flipped first, so it describes the node after this one.
            *key = !*key;
            !*key
        }
        _ => false,
    }
}

fn kind(text: &str, style: ScalarStyle) -> TokenKind {
    if style != ScalarStyle::Plain {
        return TokenKind::String;
    }
    let text: Arc<str> = text.into();
    match scalar::plain(&text) {
        Value::Null | Value::Bool(_) => TokenKind::Keyword,
        Value::Int(_) | Value::Float(_) => TokenKind::Number,
        _ => TokenKind::String,
    }
}

/// Adds comments: text after a `#` at the start of a line or after a blank, outside other tokens.
fn comments(text: &str, tokens: &[SemanticToken]) -> Vec<SemanticToken> {
    let mut found = Vec::new();
    let mut tokens = tokens.iter().peekable();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('#')) {
        let at = from + at;
        // Both lists are sorted, so each token is visited only once.
        while tokens.next_if(|token| token.span.end <= at).is_some() {}
        if let Some(token) = tokens.next_if(|token| token.span.start <= at) {
            from = token.span.end;
            continue;
        }
        let before = text.get(..at).unwrap_or_default();
        let rest = text.get(at..).unwrap_or_default();
        from = at + 1;
        if before.is_empty() || before.ends_with([' ', '\t', '\n', '\r']) {
            let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
            found.push(SemanticToken::new(at, at + length, TokenKind::Comment));
            from = at + length;
        }
    }
    found
}

/// Returns the next line after a byte that is neither indented nor empty.
fn next_line(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += text.get(at..)?.find('\n')? + 1;
        let next = text.as_bytes().get(at)?;
        // Indented lines and closing brackets would be read out of their context.
        if !matches!(next, b' ' | b'\t' | b'\r' | b'\n' | b'#' | b'}' | b']') {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let part = Span {
            start: 0,
            end: text.len(),
        };
        let show = |token: SemanticToken| {
            let written = &text[token.span.start..token.span.end];
            format!("{}:{written}", token.kind.name())
        };
        tokens(text, part)
            .into_iter()
            .map(show)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn keys_values_and_comments_have_their_kinds() {
        let table = [
            (
                "a: 1\nb: [true, 'x', y z]\n",
                "property:a number:1 property:b keyword:true string:'x' string:y z",
            ),
            (
                "# c\na: |\n  one # no\n  two\nb: \"#\" # d\n",
                "comment:# c property:a string:one # no\n  two property:b string:\"#\" comment:# d",
            ),
            (
                "- !fn |-\n  code\n- &x {k: ~}\n- *x\n",
                "keyword:!fn string:code keyword:&x property:k keyword:~ variable:*x",
            ),
            (
                "---\na: b\n---\nc: 2.5\n...\n",
                "delimiter:--- property:a string:b delimiter:--- property:c number:2.5 delimiter:...",
            ),
            (
                "a: [1\nb: 2\nc: \"open\nd: 3\n",
                "property:a property:b number:2 property:c property:d number:3",
            ),
            (
                "a: 'x\n\nb: é # ü\n",
                "property:a property:b string:é comment:# ü",
            ),
            ("\tx: 1\nk: v\n", "property:x number:1 property:k string:v"),
            ("a#b: c#d\n", "property:a#b string:c#d"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_stands_there_has_tokens_that_fit(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "a", ": ", ":", "- ", "\n", "  ", "\t", "#", " #", "\"", "'", "|\n", ">-\n", "[",
                    "]", "{", "}", ", ", "&x ", "*x", "!t ", "---\n", "...\n", "?", "%", "é", "😀", "1",
                    "true", "\r\n", "\0", "`", "@",
                ]),
                0..40,
            ),
        ) {
            let text = pieces.concat();
            let part = Span { start: 0, end: text.len() };
            let mut end = 0;
            for token in tokens(&text, part) {
                assert!(token.span.start >= end && token.span.start < token.span.end);
                assert!(text.get(token.span.start..token.span.end).is_some());
                end = token.span.end;
            }
        }
    }
}
