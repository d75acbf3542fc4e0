//! Lexer that reproduces the line numbers and messages of Go's lexer.

use std::sync::LazyLock;

use quillet_core::Span;
use regex::Regex;

use super::fmt::printable::is_printable;
use super::fmt::quote::quote;

/// Kind of a token. Keywords follow [`Kind::Variable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The lexer failed. The message is in [`Lexer::error`].
    Error,
    Bool,
    /// A printable ASCII character without a special meaning, such as a comma.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    // All kinds from here on are keywords.
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Kind {
    // As in Go, keywords follow `Variable` in the enum.
    pub(super) fn is_keyword(self) -> bool {
        self > Kind::Variable
    }

    fn of_word(word: &str) -> Kind {
        match word {
            "block" => Kind::Block,
            "break" => Kind::Break,
            "continue" => Kind::Continue,
            "define" => Kind::Define,
            "else" => Kind::Else,
            "end" => Kind::End,
            "if" => Kind::If,
            "nil" => Kind::Nil,
            "range" => Kind::Range,
            "template" => Kind::Template,
            "with" => Kind::With,
            "true" | "false" => Kind::Bool,
            _ => Kind::Identifier,
        }
    }
}

/// A token: the bytes `start..end`, which begin on `line` (counted from 1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) line: usize,
}

/// The lexer. After an error it returns only [`Kind::Eof`].
#[derive(Debug)]
pub(super) struct Lexer<'s> {
    source: &'s str,
    pos: usize,
    start: usize,
    line: usize,
    start_line: usize,
    inside_action: bool,
    paren_depth: usize,
    /// Message of the error token.
    pub(super) error: Option<String>,
    /// Contents of the comments read so far.
    comments: Vec<Span>,
}

/// Returns the contents of a source's comments, in order.
pub(super) fn comments(source: &str) -> Vec<Span> {
    let mut lexer = Lexer::new(source);
    while !matches!(lexer.next_token().kind, Kind::Eof | Kind::Error) {}
    lexer.comments
}

/// Result of a lexer state. `None` returns to the text state.
type Step = Option<Token>;

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Lexer {
            source,
            pos: 0,
            start: 0,
            line: 1,
            start_line: 1,
            inside_action: false,
            paren_depth: 0,
            error: None,
            comments: Vec::new(),
        }
    }

    pub(super) fn next_token(&mut self) -> Token {
        // The parser may request further tokens after an error.
        if self.error.is_some() {
            return self.token(Kind::Eof);
        }
        if self.inside_action {
            return self.inside_action();
        }
        loop {
            if let Some(token) = self.text() {
                return token;
            }
        }
    }

    /// Returns the contents of the skipped comments, in order.
    pub(super) fn comments(&self) -> &[Span] {
        &self.comments
    }

    fn rest(&self) -> &'s [u8] {
        &self.source.as_bytes()[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        match self.rest().first() {
            // ASCII characters need no decoding, and most characters inside actions are ASCII.
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            Some(_) => self.source[self.pos..].chars().next(),
            None => None,
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        self.line += usize::from(c == '\n');
        Some(c)
    }

    /// Returns the text since the previous token as a token.
    fn token(&mut self, kind: Kind) -> Token {
        let token = Token {
            kind,
            start: self.start,
            end: self.pos,
            line: self.start_line,
        };
        self.start = self.pos;
        self.start_line = self.line;
        token
    }

    fn count_lines(&mut self) {
        let skipped = &self.source.as_bytes()[self.start..self.pos];
        self.line += memchr::memchr_iter(b'\n', skipped).count();
    }

    /// Skips text without inspecting its characters.
    fn ignore(&mut self) {
        // Newlines in skipped text count for the line numbers of later errors.
        self.count_lines();
        self.start = self.pos;
        self.start_line = self.line;
    }

    fn fail(&mut self, message: String) -> Token {
        self.error = Some(message);
        let token = Token {
            kind: Kind::Error,
            start: self.start,
            end: self.pos,
            line: self.start_line,
        };
        // The rest of the source is skipped after an error.
        (self.start, self.pos) = (self.source.len(), self.source.len());
        token
    }

    fn text(&mut self) -> Step {
        let Some(before) = find_pair(self.rest(), *b"{{") else {
            self.pos = self.source.len();
            self.count_lines();
            let kind = if self.pos > self.start {
                Kind::Text
            } else {
                Kind::Eof
            };
            return Some(self.token(kind));
        };
        if before == 0 {
            return self.left_delim();
        }
        self.pos += before;
        // The space is part of the marker `{{- `, because `{{-1}}` contains a number.
        let trim = has_left_trim_marker(&self.rest()[2..]);
        let text = &self.source.as_bytes()[self.start..self.pos];
        // Trimming keeps the start of the text, so its span stays inside the source.
        let kept = if trim {
            trimmed_length(text)
        } else {
            text.len()
        };
        let end = self.pos;
        self.pos = self.start + kept;
        // Lines are counted before the trimmed part, because the token's line is that of its start.
        self.count_lines();
        let token = self.token(Kind::Text);
        self.pos = end;
        self.ignore();
        // Text that is trimmed completely does not become a token.
        if kept > 0 {
            return Some(token);
        }
        self.left_delim()
    }

    fn left_delim(&mut self) -> Step {
        self.pos += 2;
        let marker = if has_left_trim_marker(self.rest()) {
            2
        } else {
            0
        };
        // A comment must follow the delimiter without a space.
        if self.rest()[marker..].starts_with(b"/*") {
            self.pos += marker;
            self.ignore();
            return self.comment();
        }
        let token = self.token(Kind::LeftDelim);
        self.inside_action = true;
        self.paren_depth = 0;
        self.pos += marker;
        self.ignore();
        Some(token)
    }

    fn comment(&mut self) -> Step {
        self.pos += 2;
        let Some(length) = find_pair(self.rest(), *b"*/") else {
            return Some(self.fail("unclosed comment".to_owned()));
        };
        self.comments.push(Span {
            start: self.pos,
            end: self.pos + length,
        });
        self.pos += length + 2;
        // Go requires the closing delimiter directly after the comment.
        let Some(trim) = self.at_right_delim() else {
            return Some(self.fail("comment ends before closing delimiter".to_owned()));
        };
        self.ignore();
        self.skip_right_delim(trim);
        None
    }

    /// Whether a right delimiter follows. The inner value tells whether it trims the following
    /// text.
    fn at_right_delim(&self) -> Option<bool> {
        match self.rest() {
            [b' ' | b'\t' | b'\r' | b'\n', b'-', b'}', b'}', ..] => Some(true),
            [b'}', b'}', ..] => Some(false),
            _ => None,
        }
    }

    fn skip_right_delim(&mut self, trim: bool) {
        // The trimming delimiter consists of a space, a dash and two braces.
        self.pos += if trim { 4 } else { 2 };
        if trim {
            let spaces = self.rest().iter().take_while(|b| is_space(**b)).count();
            self.pos += spaces;
        }
        self.ignore();
    }

    fn right_delim(&mut self, trim: bool) -> Token {
        if trim {
            self.pos += 2;
            self.ignore();
        }
        self.pos += 2;
        let token = self.token(Kind::RightDelim);
        if trim {
            self.pos += self.rest().iter().take_while(|b| is_space(**b)).count();
            self.ignore();
        }
        self.inside_action = false;
        token
    }

    fn inside_action(&mut self) -> Token {
        if let Some(trim) = self.at_right_delim() {
            if self.paren_depth == 0 {
                return self.right_delim(trim);
            }
            return self.fail("unclosed left paren".to_owned());
        }
        let Some(c) = self.next() else {
            return self.fail("unclosed action".to_owned());
        };
        match c {
            ' ' | '\t' | '\r' | '\n' => self.space(),
            '=' => self.token(Kind::Assign),
            ':' if self.next() == Some('=') => self.token(Kind::Declare),
            ':' => self.fail("expected :=".to_owned()),
            '|' => self.token(Kind::Pipe),
            '"' => self.quoted('"', Kind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', Kind::CharConstant, "unterminated character constant"),
            '`' => self.raw_string(),
            '$' => self.field_or_variable(Kind::Variable, Kind::Variable),
            // A dot followed by a digit begins a number, such as `.5`.
            '.' if self.rest().first().is_some_and(|b| !b.is_ascii_digit()) => {
                self.field_or_variable(Kind::Field, Kind::Dot)
            }
            '.' | '+' | '-' | '0'..='9' => {
                // The number is read from its first character again.
                self.pos -= 1;
                self.number()
            }
            '(' => {
                self.paren_depth += 1;
                self.token(Kind::LeftParen)
            }
            ')' if self.paren_depth == 0 => self.fail("unexpected right paren".to_owned()),
            ')' => {
                self.paren_depth -= 1;
                self.token(Kind::RightParen)
            }
            c if is_alphanumeric(c) => self.identifier(),
            ' '..='~' => self.token(Kind::Char),
            c => self.fail(format!("unrecognized character in action: {}", unicode(c))),
        }
    }

    /// Reads the rest of a run of spaces. The last space may belong to a trimming delimiter.
    fn space(&mut self) -> Token {
        while self.rest().first().is_some_and(|b| is_space(*b)) {
            self.next();
        }
        // The last space may belong to a trimming delimiter.
        self.pos -= 1;
        if self.at_right_delim() != Some(true) {
            self.pos += 1;
            return self.token(Kind::Space);
        }
        // The delimiter consumes this newline again, so it must not be counted twice.
        self.line -= usize::from(self.rest().first() == Some(&b'\n'));
        if self.pos > self.start {
            return self.token(Kind::Space);
        }
        // Go accepts the delimiter here even inside a parenthesis.
        self.right_delim(true)
    }

    fn skip_alphanumeric(&mut self) {
        loop {
            let ascii = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_';
            self.pos += self.rest().iter().take_while(ascii).count();
            match self.peek() {
                Some(c) if !c.is_ascii() && is_alphanumeric(c) => self.pos += c.len_utf8(),
                _ => return,
            }
        }
    }

    fn identifier(&mut self) -> Token {
        // Go reports an invalid character directly after a word instead of splitting the word.
        self.skip_alphanumeric();
        if let Some(token) = self.bad_terminator() {
            return token;
        }
        let kind = Kind::of_word(&self.source[self.start..self.pos]);
        self.token(kind)
    }

    /// Reads a token that begins with the consumed `.` or `$`. If no name follows, the kind is
    /// `alone`.
    fn field_or_variable(&mut self, kind: Kind, alone: Kind) -> Token {
        if self.at_terminator() {
            return self.token(alone);
        }
        self.skip_alphanumeric();
        if let Some(token) = self.bad_terminator() {
            return token;
        }
        self.token(kind)
    }

    fn bad_terminator(&mut self) -> Step {
        if self.at_terminator() {
            return None;
        }
        let c = self.peek().unwrap_or_default();
        Some(self.fail(format!("bad character {}", unicode(c))))
    }

    fn at_terminator(&self) -> bool {
        match self.rest() {
            []
            | [
                b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(',
                ..,
            ] => true,
            rest => rest.starts_with(b"}}"),
        }
    }

    /// Reads a string or a character constant after its opening quote.
    fn quoted(&mut self, quote: char, kind: Kind, unterminated: &str) -> Token {
        loop {
            match self.next() {
                // A backslash does not escape a newline.
                Some('\\') if !matches!(self.next(), None | Some('\n')) => {}
                None | Some('\n' | '\\') => return self.fail(unterminated.to_owned()),
                Some(c) if c == quote => return self.token(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_string(&mut self) -> Token {
        match memchr::memchr(b'`', self.rest()) {
            Some(length) => {
                self.pos += length + 1;
                self.count_lines();
                self.token(Kind::RawString)
            }
            None => self.fail("unterminated raw quoted string".to_owned()),
        }
    }

    fn number(&mut self) -> Token {
        if !self.scan_number() {
            return self.bad_number();
        }
        if !matches!(self.peek(), Some('+' | '-')) {
            return self.token(Kind::Number);
        }
        // `1+2i` is one token; `1+2` is an error.
        let imaginary = self.scan_number() && self.source.as_bytes()[self.pos - 1] == b'i';
        if !imaginary {
            return self.bad_number();
        }
        self.token(Kind::Complex)
    }

    fn bad_number(&mut self) -> Token {
        let text = &self.source.as_bytes()[self.start..self.pos];
        let mut message = b"bad number syntax: ".to_vec();
        quote(&mut message, text, false);
        self.fail(String::from_utf8_lossy(&message).into_owned())
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let found = self.rest().first().is_some_and(|b| set.contains(b));
        self.pos += usize::from(found);
        found
    }

    fn accept_run(&mut self, set: &[u8]) {
        self.pos += self.rest().iter().take_while(|b| set.contains(b)).count();
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        const HEX: &[u8] = b"0123456789abcdefABCDEF_";
        self.accept(b"+-");
        let mut digits = DECIMAL;
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = HEX;
            } else if self.accept(b"oO") {
                digits = b"01234567_";
            } else if self.accept(b"bB") {
                digits = b"01_";
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        let exponent =
            (digits == DECIMAL && self.accept(b"eE")) || (digits == HEX && self.accept(b"pP"));
        if exponent {
            self.accept(b"+-");
            self.accept_run(DECIMAL);
        }
        self.accept(b"i");
        // Go includes the next character in the message.
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            return false;
        }
        true
    }
}

/// Finds two adjacent bytes. For such a short pattern this is faster than a general search.
fn find_pair(text: &[u8], pair: [u8; 2]) -> Option<usize> {
    let firsts = memchr::memchr_iter(pair[0], text);
    firsts
        .into_iter()
        .find(|at| text.get(at + 1) == Some(&pair[1]))
}

/// Returns the length of a text without trailing spaces.
fn trimmed_length(text: &[u8]) -> usize {
    text.iter()
        .rposition(|b| !is_space(*b))
        .map_or(0, |last| last + 1)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn has_left_trim_marker(text: &[u8]) -> bool {
    matches!(text, [b'-', b' ' | b'\t' | b'\r' | b'\n', ..])
}

/// Whether a character is a letter (Unicode L), a digit (Nd) or the underscore.
pub(super) fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() {
        return c == '_' || c.is_ascii_alphanumeric();
    }
    // Compiled once. Rust's `is_alphanumeric` accepts other Unicode classes than Go's function.
    static LETTER_OR_DIGIT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{Nd}]$").ok());
    let class = LETTER_OR_DIGIT.as_ref();
    class.is_some_and(|class| class.is_match(c.encode_utf8(&mut [0; 4])))
}

/// Formats a character like `%#U`.
fn unicode(c: char) -> String {
    let code = u32::from(c);
    if !is_printable(c) {
        return format!("U+{code:04X}");
    }
    format!("U+{code:04X} '{c}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(Kind, &str)> {
        let mut lexer = Lexer::new(source);
        let mut found = Vec::new();
        loop {
            let token = lexer.next_token();
            if matches!(token.kind, Kind::Eof | Kind::Error) {
                return found;
            }
            found.push((token.kind, &source[token.start..token.end]));
        }
    }

    #[test]
    fn trim_markers_take_the_space_around() {
        use Kind::{LeftDelim, Number, RightDelim, Text};
        let number = |text| (Number, text);
        assert_eq!(
            kinds("a \n{{- 1 -}}\n b"),
            [
                (Text, "a"),
                (LeftDelim, "{{"),
                number("1"),
                (RightDelim, "}}"),
                (Text, "b")
            ]
        );
        assert_eq!(kinds("{{-1}}")[1], number("-1"));
    }

    #[test]
    fn errors_have_gos_words() {
        let cases = [
            ("{{", "unclosed action"),
            ("{{/* x", "unclosed comment"),
            ("{{/* x */ }}", "comment ends before closing delimiter"),
            ("{{(1}}", "unclosed left paren"),
            ("{{1)}}", "unexpected right paren"),
            ("{{\"x}}", "unterminated quoted string"),
            ("{{`x}}", "unterminated raw quoted string"),
            ("{{'x}}", "unterminated character constant"),
            ("{{.x#}}", "bad character U+0023 '#'"),
            ("{{1x}}", "bad number syntax: \"1x\""),
            ("{{$x : 1}}", "expected :="),
            ("{{\u{1}}}", "unrecognized character in action: U+0001"),
        ];
        for (source, message) in cases {
            let mut lexer = Lexer::new(source);
            while !matches!(lexer.next_token().kind, Kind::Eof | Kind::Error) {}
            assert_eq!(lexer.error.as_deref(), Some(message), "{source}");
        }
    }

    #[test]
    fn lines_are_counted_through_text_strings_and_comments() {
        let source = "a\nb{{/*\n*/}}\n{{`x\ny`}}{{.}}";
        let mut lexer = Lexer::new(source);
        let mut last = lexer.next_token();
        while last.kind != Kind::Eof {
            if last.kind == Kind::Dot {
                assert_eq!(last.line, 5);
            }
            last = lexer.next_token();
        }
    }
}
