//! Tokens inside a tag.

use crate::format::problem::ParseProblem;

/// A token and its span in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    pub(super) start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    /// A text with its quotes.
    Text,
    Number,
    /// A comparison operator, such as `==` or `contains`.
    Comparison,
    DotDot,
    /// One of the characters `|.:,[]()?-`.
    Sign,
    End,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }
}

/// Returns the tokens of a markup, followed by an end token. `at` is the offset of the markup in
/// the source.
pub(super) fn tokens(markup: &str, at: usize) -> Result<Vec<Token<'_>>, ParseProblem> {
    let mut found = Vec::new();
    let mut from = 0;
    loop {
        from = markup.len() - markup[from..].trim_start_matches(is_space).len();
        let rest = &markup[from..];
        let (kind, length) = match first(rest) {
            Some(found) => found,
            None if rest.is_empty() => (Kind::End, 0),
            None => {
                let c = rest.chars().next().unwrap_or_default();
                let start = at + from;
                let problem = ParseProblem::at(
                    format!("unexpected character {c:?}"),
                    start,
                    start + c.len_utf8(),
                );
                return Err(match c {
                    '\'' | '"' => {
                        problem.help("close the string; quotes inside it cannot be escaped")
                    }
                    '=' => problem.help("equality is =="),
                    '&' => problem.help("write and"),
                    _ => problem,
                });
            }
        };
        found.push(Token {
            kind,
            text: &rest[..length],
            start: at + from,
        });
        if kind == Kind::End {
            return Ok(found);
        }
        from += length;
    }
}

/// Returns the tokens of a markup for an editor. Invalid characters are skipped, and a lone `=` is
/// a sign.
pub(super) fn known(markup: &str, at: usize) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = markup;
    while let Some(next) = rest.chars().next() {
        let start = at + markup.len() - rest.len();
        let (kind, length) = match first(rest) {
            Some((kind, length)) => (Some(kind), length),
            None if next == '=' => (Some(Kind::Sign), 1),
            None => (None, next.len_utf8()),
        };
        let (text, after) = rest.split_at(length);
        found.extend(kind.map(|kind| Token { kind, text, start }));
        rest = after;
    }
    found
}

/// Whether Ruby's `\s` matches a character.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn first(text: &str) -> Option<(Kind, usize)> {
    let bytes = text.as_bytes();
    let comparison = ["==", "!=", "<>", "<=", ">=", "<", ">"];
    if let Some(sign) = comparison.iter().find(|sign| text.starts_with(**sign)) {
        return Some((Kind::Comparison, sign.len()));
    }
    let word = "contains";
    if text.starts_with(word) && text[word.len()..].starts_with(is_space) {
        return Some((Kind::Comparison, word.len()));
    }
    match *bytes.first()? {
        quote @ (b'\'' | b'"') => {
            let end = memchr::memchr(quote, &bytes[1..])?;
            Some((Kind::Text, end + 2))
        }
        b'0'..=b'9' => Some((Kind::Number, number(bytes))),
        b'-' if bytes.get(1).is_some_and(u8::is_ascii_digit) => {
            Some((Kind::Number, 1 + number(&bytes[1..])))
        }
        b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
            let plain = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
            let length = bytes.iter().take_while(plain).count();
            let question = bytes.get(length) == Some(&b'?');
            Some((Kind::Name, length + usize::from(question)))
        }
        b'.' if bytes.get(1) == Some(&b'.') => Some((Kind::DotDot, 2)),
        b'|' | b'.' | b':' | b',' | b'[' | b']' | b'(' | b')' | b'?' | b'-' => {
            Some((Kind::Sign, 1))
        }
        _ => None,
    }
}

/// Returns the length of a number that matches `\d+(\.\d+)?`.
fn number(bytes: &[u8]) -> usize {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(bytes);
    match bytes.get(whole) {
        Some(b'.') => match digits(&bytes[whole + 1..]) {
            0 => whole,
            places => whole + 1 + places,
        },
        _ => whole,
    }
}
