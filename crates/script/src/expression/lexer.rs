//! Tokens of an expression. They are read one at a time, because `/` and `` ` `` have different
//! meanings where a value or an operator is expected.

use quillet_core::Span;

use super::characters::{continues_name, is_space, radix_prefix, starts_name};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    End,
    Name(&'a str),
    /// A numeric literal, including any characters directly after it.
    Number(&'a str),
    /// The opening quote of a string or template.
    Quote(char),
    Mark(&'static str),
    /// A character that cannot start a JavaScript token.
    Other(char),
}

/// Longest first, so that `===` is not read as `==` and `=`.
const MARKS: [&str; 54] = [
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=",
    "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
    "<<", ">>", "**", "{", "}", "(", ")", "[", "]", ";", ",", "<", ">", "+", "-", "*", "/", "%",
    "&", "|", "^", "!", "~", "?",
];
const LATE_MARKS: [&str; 3] = [":", "=", "."];

#[derive(Debug)]
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Lexer { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Reads the next token and its span.
    pub(super) fn next(&mut self) -> (Token<'a>, Span) {
        self.skip_space();
        let start = self.at;
        let token = self.token();
        let span = Span {
            start,
            end: self.at,
        };
        (token, span)
    }

    fn token(&mut self) -> Token<'a> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Token::End;
        };
        if starts_name(first) {
            return Token::Name(self.take_while(continues_name));
        }
        // Slicing cannot split a character, because the dot is one byte.
        let dot_digit = first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if first.is_ascii_digit() || dot_digit {
            return Token::Number(self.number());
        }
        if matches!(first, '"' | '\'' | '`') {
            self.at += 1;
            return Token::Quote(first);
        }
        self.mark().unwrap_or_else(|| {
            self.at += first.len_utf8();
            Token::Other(first)
        })
    }

    fn mark(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        // `a?.5:b` is a conditional, not an optional access.
        let half = rest.starts_with("?.") && rest[2..].starts_with(|c: char| c.is_ascii_digit());
        let mark = MARKS
            .into_iter()
            .chain(LATE_MARKS)
            .find(|mark| rest.starts_with(mark) && !(half && *mark == "?."))?;
        self.at += mark.len();
        Some(Token::Mark(mark))
    }

    /// Reads digits, dot, exponent, and any letters after them. `literal_number` validates them.
    fn number(&mut self) -> &'a str {
        let rest = self.rest();
        let radix = radix_prefix(rest).is_some();
        let mut end = 0;
        let mut dots = 0;
        let mut before = ' ';
        for c in rest.chars() {
            // The sign of an exponent belongs to the number, but in hexadecimal `e` is a digit.
            let signed = !radix && matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            let dot = c == '.' && dots == 0 && !radix;
            if !(signed || dot || continues_name(c)) {
                break;
            }
            // No dot may follow an exponent, so an exponent counts as one.
            dots += usize::from(dot || matches!(c, 'e' | 'E'));
            end += c.len_utf8();
            before = c;
        }
        self.at += end;
        &rest[..end]
    }

    fn take_while(&mut self, test: fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !test(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Skips white space and comments, except an unclosed comment.
    pub(super) fn skip_space(&mut self) {
        loop {
            let trimmed = self.rest().trim_start_matches(is_space);
            self.at = self.text.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") {
                trimmed
                    .find(['\n', '\r', '\u{2028}', '\u{2029}'])
                    .or(Some(trimmed.len()))
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                comment.find("*/").map(|end| end + 4)
            } else {
                None
            };
            match comment {
                Some(length) => self.at += length,
                None => return,
            }
        }
    }
}
