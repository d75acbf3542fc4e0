//! Splits SQL into words, literals, comments and symbols, as the server of each dialect does.
//!
//! The lexer accepts any text. Unclosed or invalid parts become tokens too, and the caller decides
//! about them. It is independent of the parser, and stricter in one respect: comments and literals
//! always end where the server ends them.

use std::ops::Range;

use crate::SqlDialect;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Blanks and newlines.
    Space,
    /// From `--` or `#` to the end of the line, excluding the line end.
    LineComment,
    /// `/* … */`, nested in PostgreSQL.
    BlockComment,
    /// A keyword or an unquoted name.
    Word,
    /// A quoted name.
    Quoted,
    /// A quoted or dollar-quoted literal, with its prefix (`E`, `x`).
    Text,
    /// A number.
    Number,
    /// A parameter: `?`, `$1`, `:name`.
    Parameter,
    /// An operator, or a single symbol such as a bracket, a comma or a semicolon.
    Mark,
}

/// A token of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Byte range in the source.
    pub(crate) span: Range<usize>,
    /// Whether the token is closed; false only for unclosed comments, literals and quoted names.
    pub(crate) closed: bool,
}

impl Token {
    /// Returns whether the parser sees the token: true except for blanks and comments.
    pub(crate) fn is_significant(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Space | Kind::LineComment | Kind::BlockComment
        )
    }

    pub(crate) fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::LineComment | Kind::BlockComment)
    }

    /// Returns the text of the token.
    pub(crate) fn text<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.span.clone()).unwrap_or_default()
    }

    /// Returns whether it is this unquoted word, ignoring case.
    pub(crate) fn is_word(&self, source: &str, word: &str) -> bool {
        self.kind == Kind::Word && self.text(source).eq_ignore_ascii_case(word)
    }

    /// Returns whether it is this symbol.
    pub(crate) fn is_mark(&self, source: &str, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text(source) == mark
    }
}

/// Returns all tokens of a text, without gaps.
pub(crate) fn tokens(source: &str, dialect: SqlDialect) -> Vec<Token> {
    let mut lexer = Lexer {
        source,
        bytes: source.as_bytes(),
        at: 0,
        dialect,
    };
    let mut tokens = Vec::new();
    while lexer.at < source.len() {
        let start = lexer.at;
        let (kind, closed) = lexer.token();
        // This guarantees progress even if no rule above consumed anything.
        lexer.at = lexer.at.max(start + 1);
        while !source.is_char_boundary(lexer.at) {
            lexer.at += 1;
        }
        tokens.push(Token {
            kind,
            span: start..lexer.at,
            closed,
        });
    }
    tokens
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    dialect: SqlDialect,
}

/// Operators of several characters. Longer ones come before their own prefixes.
const LONG_MARKS: [&str; 40] = [
    "!~~*", "?||", "?-|", "<<|", "|>>", "&<|", "|&>", "!~~", "!~*", "~~*", "->>", "#>>", "<=>",
    "<->", "<#>", "@-@", "||/", "::", ":=", "=>", "->", "#>", "#-", "<=", ">=", "<>", "!=", "||",
    "&&", "<<", ">>", "@>", "<@", "@@", "@?", "?|", "?&", "!~", "~*", "^@",
];

impl Lexer<'_> {
    fn token(&mut self) -> (Kind, bool) {
        let Some(byte) = self.peek(0) else {
            return (Kind::Mark, true);
        };
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                self.take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c));
                (Kind::Space, true)
            }
            b'-' if self.starts("--") && self.is_dash_comment() => self.line_comment(),
            // In PostgreSQL, `#` is an operator (XOR); in SQLite, it is an error.
            b'#' if self.dialect == SqlDialect::MySql => self.line_comment(),
            b'/' if self.starts("/*") => self.block_comment(),
            b'\'' => (Kind::Text, self.quoted(b'\'', self.escapes())),
            b'"' if self.dialect == SqlDialect::MySql => (Kind::Text, self.quoted(b'"', true)),
            b'"' => (Kind::Quoted, self.quoted(b'"', false)),
            b'`' if self.dialect != SqlDialect::PostgreSql => {
                (Kind::Quoted, self.quoted(b'`', false))
            }
            // Brackets quote names in SQLite only; in PostgreSQL they are array subscripts.
            b'[' if self.dialect == SqlDialect::Sqlite => self.bracketed(),
            b'$' if self.dialect == SqlDialect::PostgreSql => self.dollar(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_some_and(|b| b.is_ascii_digit()) && !self.follows_name() => {
                self.number()
            }
            // In PostgreSQL, `?` is a jsonb operator.
            b'?' if self.dialect != SqlDialect::PostgreSql => self.parameter(),
            b':' | b'@' | b'$' if self.dialect == SqlDialect::Sqlite && self.names_follow(1) => {
                self.parameter()
            }
            _ if self.is_name(byte) => self.word(),
            _ => self.mark(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn starts(&self, prefix: &str) -> bool {
        self.bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(prefix.as_bytes()))
    }

    fn take_while(&mut self, test: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&test) {
            self.at += 1;
        }
    }

    /// Returns whether `--` starts a comment. In MySQL it does so only before whitespace or the end
    /// of the text (manual, "Comments").
    fn is_dash_comment(&self) -> bool {
        self.dialect != SqlDialect::MySql || self.peek(2).is_none_or(|b| b <= b' ' || b == 0x7f)
    }

    fn line_comment(&mut self) -> (Kind, bool) {
        // PostgreSQL also ends the comment at a carriage return; the other servers do not.
        let ends_at_return = self.dialect == SqlDialect::PostgreSql;
        self.take_while(|b| b != b'\n' && !(ends_at_return && b == b'\r'));
        (Kind::LineComment, true)
    }

    fn block_comment(&mut self) -> (Kind, bool) {
        // If the lexer and the server disagreed on nesting, they would disagree on where the
        // comment ends, and so on the SQL that runs.
        let nests = self.dialect == SqlDialect::PostgreSql;
        let mut open = 1usize;
        self.at += 2;
        while open > 0 && self.at < self.bytes.len() {
            if self.starts("*/") {
                open -= 1;
                self.at += 2;
            } else if nests && self.starts("/*") {
                open += 1;
                self.at += 2;
            } else {
                self.at += 1;
            }
        }
        (Kind::BlockComment, open == 0)
    }

    /// Returns whether a backslash escapes in plain strings. It does so in MySQL by default.
    fn escapes(&self) -> bool {
        self.dialect == SqlDialect::MySql
    }

    /// Consumes up to the next quote that is not doubled; returns whether there was one.
    fn quoted(&mut self, quote: u8, escapes: bool) -> bool {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == b'\\' && escapes {
                self.at = (self.at + 1).min(self.bytes.len());
            } else if byte == quote {
                if self.peek(0) != Some(quote) {
                    return true;
                }
                self.at += 1;
            }
        }
        false
    }

    fn bracketed(&mut self) -> (Kind, bool) {
        self.take_while(|b| b != b']');
        let closed = self.peek(0).is_some();
        self.at = (self.at + 1).min(self.bytes.len());
        (Kind::Quoted, closed)
    }

    /// Consumes `$1`, or a literal between `$tag$` and `$tag$`.
    fn dollar(&mut self) -> (Kind, bool) {
        let start = self.at;
        self.at += 1;
        if self.peek(0).is_some_and(|b| b.is_ascii_digit()) {
            self.take_while(|b| b.is_ascii_digit());
            return (Kind::Parameter, true);
        }
        self.take_while(|b| b == b'_' || b.is_ascii_alphanumeric() || b >= 0x80);
        // Without a second `$`, the first one is part of an operator or an error, and the following
        // text is tokenized normally.
        if self.peek(0) != Some(b'$') {
            self.at = start + 1;
            return (Kind::Mark, true);
        }
        self.at += 1;
        let tag = self.source.get(start..self.at).unwrap_or("$$");
        // Dollar quotes do not support escapes, so a plain search finds the end.
        let rest = self.source.get(self.at..).unwrap_or_default();
        match rest.find(tag) {
            Some(end) => self.at += end + tag.len(),
            None => {
                self.at = self.bytes.len();
                return (Kind::Text, false);
            }
        }
        (Kind::Text, true)
    }

    fn number(&mut self) -> (Kind, bool) {
        let start = self.at;
        if self.starts("0x") || self.starts("0X") {
            self.at += 2;
        }
        self.take_while(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
        let text = self.source.get(start..self.at).unwrap_or_default();
        let is_hex = text.starts_with("0x") || text.starts_with("0X");
        let has_exponent = text.ends_with(['e', 'E']) && !is_hex;
        if has_exponent && matches!(self.peek(0), Some(b'+' | b'-')) {
            self.at += 1;
            self.take_while(|b| b.is_ascii_digit());
        }
        (Kind::Number, true)
    }

    /// Returns whether a name or a bracket directly precedes, so that a dot belongs to it.
    fn follows_name(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|i| self.bytes.get(i));
        before.is_some_and(|b| self.is_name(*b) || b"\"`])".contains(b))
    }

    fn names_follow(&self, ahead: usize) -> bool {
        self.peek(ahead).is_some_and(|b| self.is_name(b))
    }

    fn parameter(&mut self) -> (Kind, bool) {
        self.at += 1;
        self.take_while(|b| b == b'_' || b.is_ascii_alphanumeric() || b >= 0x80);
        (Kind::Parameter, true)
    }

    /// Returns whether a name can contain the byte. This includes digits, although a name cannot
    /// start with one.
    fn is_name(&self, byte: u8) -> bool {
        let dollar = byte == b'$';
        byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80 || dollar
    }

    fn word(&mut self) -> (Kind, bool) {
        let start = self.at;
        while self.peek(0).is_some_and(|b| self.is_name(b)) {
            self.at += 1;
        }
        let word = self.source.get(start..self.at).unwrap_or_default();
        if self.peek(0) != Some(b'\'') {
            return (Kind::Word, true);
        }
        match self.prefix_escapes(word) {
            Some(escapes) => (Kind::Text, self.quoted(b'\'', escapes)),
            None => (Kind::Word, true),
        }
    }

    /// Returns `None` unless a word directly before a quote is a literal prefix; otherwise, whether
    /// backslashes escape in the literal.
    fn prefix_escapes(&self, word: &str) -> Option<bool> {
        let lower = word.to_ascii_lowercase();
        match (self.dialect, lower.as_str()) {
            (SqlDialect::PostgreSql, "e") => Some(true),
            (SqlDialect::PostgreSql, "b" | "n") | (_, "x") => Some(false),
            (SqlDialect::MySql, "b" | "n") => Some(true),
            _ => None,
        }
    }

    /// Returns whether this operator is next and does not contain the start of a comment. Servers
    /// end an operator before `--` and `/*`, even in its middle.
    fn is_whole(&self, mark: &str) -> bool {
        let next = self.peek(mark.len());
        let comments = (mark.ends_with('-') && next == Some(b'-'))
            || (mark.ends_with('/') && next == Some(b'*'));
        self.starts(mark) && !comments
    }

    fn mark(&mut self) -> (Kind, bool) {
        let single = self
            .peek(0)
            .is_some_and(|byte| b"()[]{},;.+*/%\\".contains(&byte));
        let long = if single {
            None
        } else {
            LONG_MARKS.iter().find(|mark| self.is_whole(mark))
        };
        // `#` starts comments in MySQL, which are handled above.
        self.at += long.map_or(1, |mark| mark.len());
        (Kind::Mark, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(source: &str, dialect: SqlDialect) -> Vec<(Kind, &str)> {
        let all = tokens(source, dialect);
        assert_eq!(
            all.iter().map(|t| t.text(source)).collect::<String>(),
            source
        );
        let speaking = all.iter().filter(|t| t.kind != Kind::Space);
        speaking.map(|t| (t.kind, t.text(source))).collect()
    }

    #[test]
    fn literals_and_comments_are_those_of_the_server() {
        use Kind::{BlockComment, LineComment, Mark, Number, Quoted, Text, Word};
        use SqlDialect::{MySql, PostgreSql, Sqlite};
        for (dialect, source, expected) in [
            (
                MySql,
                r"'a\'b' #c",
                vec![(Text, r"'a\'b'"), (LineComment, "#c")],
            ),
            (PostgreSql, r"'a\' ", vec![(Text, r"'a\'")]),
            (PostgreSql, r"E'a\'b'", vec![(Text, r"E'a\'b'")]),
            (
                PostgreSql,
                "$a$ ' $a$x",
                vec![(Text, "$a$ ' $a$"), (Word, "x")],
            ),
            (PostgreSql, "a$b$", vec![(Word, "a$b$")]),
            (
                PostgreSql,
                "/* /* */ */1",
                vec![(BlockComment, "/* /* */ */"), (Number, "1")],
            ),
            (
                Sqlite,
                "/* /* */1",
                vec![(BlockComment, "/* /* */"), (Number, "1")],
            ),
            (
                MySql,
                "1--1",
                vec![(Number, "1"), (Mark, "-"), (Mark, "-"), (Number, "1")],
            ),
            (MySql, "1-- 1", vec![(Number, "1"), (LineComment, "-- 1")]),
            (
                PostgreSql,
                "1||/*c*/2",
                vec![
                    (Number, "1"),
                    (Mark, "||"),
                    (BlockComment, "/*c*/"),
                    (Number, "2"),
                ],
            ),
            (
                PostgreSql,
                "1#--2",
                vec![(Number, "1"), (Mark, "#"), (LineComment, "--2")],
            ),
            (Sqlite, "[a b]''''", vec![(Quoted, "[a b]"), (Text, "''''")]),
            (
                MySql,
                "`a``b`\"x\"",
                vec![(Quoted, "`a``b`"), (Text, "\"x\"")],
            ),
            (Sqlite, "x'00'", vec![(Text, "x'00'")]),
            (PostgreSql, "1.5e-3", vec![(Number, "1.5e-3")]),
            (
                PostgreSql,
                "t.1",
                vec![(Word, "t"), (Mark, "."), (Number, "1")],
            ),
            (PostgreSql, "订单", vec![(Word, "订单")]),
        ] {
            assert_eq!(pieces(source, dialect), expected, "{dialect}: {source}");
        }
    }

    #[test]
    fn what_is_not_closed_says_so() {
        for (dialect, source) in [
            (SqlDialect::MySql, r"'a\'"),
            (SqlDialect::PostgreSql, "$a$ $b$"),
            (SqlDialect::PostgreSql, "/* /* */"),
            (SqlDialect::Sqlite, "[a"),
        ] {
            let last = tokens(source, dialect).pop();
            assert!(last.is_some_and(|token| !token.closed), "{source}");
        }
    }
}
