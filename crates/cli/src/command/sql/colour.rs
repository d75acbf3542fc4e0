//! Syntax colours for queries: keywords, strings and comments.
//!
//! The query is already formatted, so uppercase words are keywords.

use crate::chat::sanitize;
use crate::terminal::{TextStyle, styled};

/// Returns the query, sanitised for a terminal and optionally coloured.
pub(super) fn coloured(sql: &str, colour: bool) -> String {
    let sql = sanitize(sql);
    if !colour {
        return sql.into_owned();
    }
    let mut shown = String::with_capacity(sql.len() * 2);
    let mut rest = sql.as_ref();
    while let Some(first) = rest.chars().next() {
        let (length, style) = piece(rest, first);
        let (head, tail) = rest.split_at(length.clamp(first.len_utf8(), rest.len()));
        shown.push_str(&style.map_or_else(|| head.to_owned(), |style| styled(head, style, true)));
        rest = tail;
    }
    shown
}

/// Returns length and style of the next token.
fn piece(rest: &str, first: char) -> (usize, Option<TextStyle>) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    match first {
        '\'' => (quoted(rest, '\''), Some(TextStyle::Green)),
        '"' | '`' => (quoted(rest, first), None),
        '-' if rest.starts_with("--") => (until(rest, "\n"), Some(TextStyle::Dim)),
        '/' if rest.starts_with("/*") => (until(rest, "*/"), Some(TextStyle::Dim)),
        c if is_word(c) => {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            let is_capital = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
            (length, is_capital.then_some(TextStyle::Bold))
        }
        c => (c.len_utf8(), None),
    }
}

/// Returns the length of a quoted token. A doubled quote is an escaped quote.
fn quoted(rest: &str, quote: char) -> usize {
    let mut inside = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = inside.next() {
        if c != quote {
            continue;
        }
        if inside.next_if(|(_, next)| *next == quote).is_none() {
            return at + quote.len_utf8();
        }
    }
    rest.len()
}

fn until(rest: &str, end: &str) -> usize {
    rest.find(end).map_or(rest.len(), |at| at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_texts_and_comments_have_their_colours() {
        let cases = [
            ("SELECT a", "\u{1b}[1mSELECT\u{1b}[0m a"),
            ("'it''s' x", "\u{1b}[32m'it''s'\u{1b}[0m x"),
            ("\"FROM\" A", "\"FROM\" A"),
            ("'open", "\u{1b}[32m'open\u{1b}[0m"),
            ("-- x\n1", "\u{1b}[2m-- x\n\u{1b}[0m1"),
            ("/* x", "\u{1b}[2m/* x\u{1b}[0m"),
            ("订单.FROM_x", "订单.FROM_x"),
            ("", ""),
        ];
        for (sql, expected) in cases {
            assert_eq!(coloured(sql, true), expected, "{sql:?}");
            assert_eq!(coloured(sql, false), sql);
        }
        assert_eq!(coloured("\u{1b}[2J", true), "␛[2J");
    }
}
