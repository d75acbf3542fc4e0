//! Lexer by the grammar of handlebars.js. It reads literal text with its escapes, starts of tags,
//! and the tokens inside them.

use std::borrow::Cow;

use memchr::memmem;

use crate::format::javascript::is_space;

/// Kind of a tag's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagOpening {
    /// `{{`, `{{&`.
    Print { escaped: bool },
    /// `{{{`.
    Triple,
    /// `{{#`.
    Block,
    /// `{{#*`.
    Decorator,
    /// `{{*`.
    DecoratorCall,
    /// `{{^x`.
    Inverse,
    /// `{{else x`.
    ElseCall,
    /// `{{else}}` or `{{^}}`, the entire tag.
    Else { close: bool },
    /// `{{/`.
    End,
    /// `{{>`.
    Partial,
    /// `{{#>`.
    PartialBlock,
    /// `{{{{`.
    Raw,
    /// `{{!…}}`, the entire tag.
    Comment { close: bool },
}

/// A token inside a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Id,
    /// `[any name]`.
    Bracketed,
    Text,
    Number,
    True,
    False,
    Null,
    Undefined,
    /// `@`.
    Data,
    /// `.` or `/` between the parts of a path.
    Separator,
    Equals,
    OpenCall,
    CloseCall,
    /// `as |`.
    OpenParams,
    /// `|`.
    CloseParams,
    /// `}}`.
    Close {
        strip: bool,
    },
    /// `}}}`.
    CloseTriple {
        strip: bool,
    },
    /// `}}}}`.
    CloseRaw,
    /// An invalid character.
    Invalid,
    /// End of the source.
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Literal text up to a tag, in one or two segments.
#[derive(Debug)]
pub(super) struct TextContent {
    pub(super) pieces: [(usize, usize); 2],
    /// Whether a tag follows. If not, more literal text or the end follows.
    pub(super) tag: bool,
}

#[derive(Debug)]
pub(super) struct Lexer<'s> {
    pub(super) text: &'s str,
    pub(super) at: usize,
    braces: memmem::Finder<'static>,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Lexer {
            text,
            at: 0,
            braces: memmem::Finder::new("{{"),
        }
    }

    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Consumes this text, if it is next.
    fn take(&mut self, what: &str) -> bool {
        let there = self.rest().starts_with(what);
        if there {
            self.at += what.len();
        }
        there
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_space).len();
    }

    fn find_braces(&self, from: usize) -> Option<usize> {
        let text = self.text.as_bytes().get(from..)?;
        self.braces.find(text).map(|at| from + at)
    }

    /// Reads literal text up to the next tag. `\{{` prints two braces, and the text continues after
    /// it. `\\{{` is a backslash before a tag.
    pub(super) fn content(&mut self) -> TextContent {
        let start = self.at;
        let none = (start, start);
        let Some(open) = self.find_braces(start) else {
            self.at = self.text.len();
            return TextContent {
                pieces: [(start, self.at), none],
                tag: false,
            };
        };
        self.at = open;
        let before = self.text.get(start..open).unwrap_or_default();
        if before.ends_with(r"\\") || !before.ends_with('\\') {
            let end = open - usize::from(before.ends_with(r"\\"));
            return TextContent {
                pieces: [(start, end), none],
                tag: true,
            };
        }
        let first = open + 2;
        self.at = match self.find_braces(first) {
            Some(next) => next - self.backslashes(first, next),
            None => self.text.len(),
        };
        TextContent {
            pieces: [(start, open - 1), (open, self.at)],
            tag: false,
        }
    }

    /// Counts the backslashes at the end of a range, up to two.
    fn backslashes(&self, start: usize, end: usize) -> usize {
        let text = self.text.get(start..end).unwrap_or_default();
        usize::from(text.ends_with('\\')) + usize::from(text.ends_with(r"\\"))
    }

    /// Reads the start of a tag. Returns its kind, and whether it has a `~`. Returns `None` for an
    /// unclosed comment.
    pub(super) fn opening(&mut self) -> Option<(TagOpening, bool)> {
        let start = self.at;
        if self.take("{{{{") {
            return Some((TagOpening::Raw, false));
        }
        self.at += 2;
        let strip = self.take("~");
        let opening = match self.rest().as_bytes() {
            [b'>', ..] => self.past(1, TagOpening::Partial),
            [b'#', b'>', ..] => self.past(2, TagOpening::PartialBlock),
            [b'#', b'*', ..] => self.past(2, TagOpening::Decorator),
            [b'#', ..] => self.past(1, TagOpening::Block),
            [b'/', ..] => self.past(1, TagOpening::End),
            [b'^', ..] => {
                self.at += 1;
                self.closed_else().unwrap_or(TagOpening::Inverse)
            }
            [b'{', ..] => self.past(1, TagOpening::Triple),
            [b'&', ..] => self.past(1, TagOpening::Print { escaped: false }),
            [b'!', ..] => self.comment(start)?,
            [b'*', ..] => self.past(1, TagOpening::DecoratorCall),
            _ => self
                .otherwise()
                .unwrap_or(TagOpening::Print { escaped: true }),
        };
        Some((opening, strip))
    }

    fn past(&mut self, length: usize, opening: TagOpening) -> TagOpening {
        self.at += length;
        opening
    }

    /// Reads `else`, closed or with a call. Consumes nothing if another word follows.
    fn otherwise(&mut self) -> Option<TagOpening> {
        let start = self.at;
        self.skip_spaces();
        if self.take("else") {
            if let Some(closed) = self.closed_else() {
                return Some(closed);
            }
            let next = self.rest().bytes().next();
            if !next.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Some(TagOpening::ElseCall);
            }
        }
        self.at = start;
        None
    }

    fn closed_else(&mut self) -> Option<TagOpening> {
        let start = self.at;
        self.skip_spaces();
        let close = self.take("~");
        if self.take("}}") {
            return Some(TagOpening::Else { close });
        }
        self.at = start;
        None
    }

    fn comment(&mut self, start: usize) -> Option<TagOpening> {
        let long = self.rest().starts_with("!--");
        let end = if long {
            self.long_comment_end()?
        } else {
            self.at + self.rest().find("}}")? + 2
        };
        self.at = end;
        let tag = self.text.get(start..end)?;
        Some(TagOpening::Comment {
            close: tag.ends_with("~}}"),
        })
    }

    /// Finds the end `--}}` of a long comment. In `{{!--}}` the same dashes are its start and its
    /// end.
    fn long_comment_end(&self) -> Option<usize> {
        let from = self.at + 1;
        let text = self.text.as_bytes().get(from..)?;
        let ends = |at: usize| {
            let rest = text.get(at + 2..).unwrap_or_default();
            let length = match rest {
                [b'}', b'}', ..] => 4,
                [b'~', b'}', b'}', ..] => 5,
                _ => return None,
            };
            Some(from + at + length)
        };
        memchr::memchr_iter(b'-', text)
            .filter(|at| text.get(at + 1) == Some(&b'-'))
            .find_map(ends)
    }

    /// Reads the next token inside a tag.
    pub(super) fn token(&mut self) -> Token {
        self.skip_spaces();
        let start = self.at;
        let kind = self.kind();
        Token {
            kind,
            start,
            end: self.at,
        }
    }

    fn kind(&mut self) -> Kind {
        let (kind, length) = match self.rest().as_bytes() {
            [] => (Kind::End, 0),
            [b'(', ..] => (Kind::OpenCall, 1),
            [b')', ..] => (Kind::CloseCall, 1),
            [b'}', b'}', b'}', b'}', ..] => (Kind::CloseRaw, 4),
            [b'}', b'}', b'}', ..] => (Kind::CloseTriple { strip: false }, 3),
            [b'}', b'~', b'}', b'}', ..] => (Kind::CloseTriple { strip: true }, 4),
            [b'}', b'}', ..] => (Kind::Close { strip: false }, 2),
            [b'~', b'}', b'}', ..] => (Kind::Close { strip: true }, 3),
            [b'=', ..] => (Kind::Equals, 1),
            [b'.', b'.', ..] => (Kind::Id, 2),
            [b'.', ..] if self.ends_name(self.at + 1) => (Kind::Id, 1),
            [b'.' | b'/', ..] => (Kind::Separator, 1),
            [b'@', ..] => (Kind::Data, 1),
            [b'|', ..] => (Kind::CloseParams, 1),
            [quote @ (b'"' | b'\''), ..] => self.quoted(*quote),
            [b'[', ..] => self.bracketed(),
            _ => self.word(),
        };
        self.at += length;
        kind
    }

    /// Reads a quoted text, in which a backslash escapes only the quote.
    fn quoted(&self, quote: u8) -> (Kind, usize) {
        let rest = self.rest().as_bytes();
        let closes = |at: &usize| rest.get(at - 1) != Some(&b'\\');
        let mut ends = memchr::memchr_iter(quote, rest).skip(1);
        match ends.find(closes).or_else(|| self.last_quote(quote)) {
            Some(end) => (Kind::Text, end + 1),
            None => self.invalid(),
        }
    }

    /// Returns the last quote, which ends the text if all later quotes are escaped.
    fn last_quote(&self, quote: u8) -> Option<usize> {
        let rest = self.rest().as_bytes();
        memchr::memrchr(quote, rest).filter(|at| *at > 0)
    }

    fn bracketed(&self) -> (Kind, usize) {
        let rest = self.rest().as_bytes();
        let closes = |at: &usize| rest.get(at.wrapping_sub(1)) != Some(&b'\\');
        let end = memchr::memchr_iter(b']', rest).find(closes);
        match end.or_else(|| memchr::memrchr(b']', rest)) {
            Some(end) => (Kind::Bracketed, end + 1),
            None => self.invalid(),
        }
    }

    /// Reads a name, a number, or a keyword such as `true`.
    fn word(&self) -> (Kind, usize) {
        let rest = self.rest();
        let length = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        if length == 0 || !self.ends_name(self.at + length) {
            return self.invalid();
        }
        let word = rest.get(..length).unwrap_or_default();
        if word == "as"
            && let Some(params) = self.params(length)
        {
            return params;
        }
        if word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            && let Some(length) = self.number()
        {
            return (Kind::Number, length);
        }
        let kind = match word {
            "true" => Kind::True,
            "false" => Kind::False,
            "null" => Kind::Null,
            "undefined" => Kind::Undefined,
            _ => return (Kind::Id, length),
        };
        if self.ends_literal(self.at + length) {
            (kind, length)
        } else {
            (Kind::Id, length)
        }
    }

    /// Reads `as |`.
    fn params(&self, length: usize) -> Option<(Kind, usize)> {
        let after = self.rest().get(length..)?;
        let bar = after.trim_start_matches(is_space);
        let spaces = after.len() - bar.len();
        let there = spaces > 0 && bar.starts_with('|');
        there.then_some((Kind::OpenParams, length + spaces + 1))
    }

    /// Returns the length of a number, if a character that ends a value follows.
    fn number(&self) -> Option<usize> {
        let rest = self.rest().as_bytes();
        let digits = |from: usize| {
            let digits = rest.get(from..).unwrap_or_default().iter();
            digits.take_while(|byte| byte.is_ascii_digit()).count()
        };
        let sign = usize::from(rest.first() == Some(&b'-'));
        let whole = digits(sign);
        if whole == 0 {
            return None;
        }
        let mut length = sign + whole;
        if rest.get(length) == Some(&b'.') {
            let fraction = digits(length + 1);
            length += if fraction > 0 { fraction + 1 } else { 0 };
        }
        self.ends_literal(self.at + length).then_some(length)
    }

    fn invalid(&self) -> (Kind, usize) {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        (Kind::Invalid, length)
    }

    /// Whether the next character ends a name.
    fn ends_name(&self, at: usize) -> bool {
        let next = self.text.get(at..).and_then(|rest| rest.chars().next());
        next.is_some_and(|c| "=~}/.)|".contains(c) || is_space(c))
    }

    /// Whether the next character ends a number or a keyword such as `true`.
    fn ends_literal(&self, at: usize) -> bool {
        let next = self.text.get(at..).and_then(|rest| rest.chars().next());
        next.is_some_and(|c| "~})".contains(c) || is_space(c))
    }

    /// Returns the text of a token.
    pub(super) fn slice(&self, token: Token) -> &'s str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    /// Returns the text between the quotes.
    pub(super) fn quoted_text(&self, token: Token) -> Cow<'s, str> {
        let inner = inside(self.slice(token));
        let quote = self.slice(token).get(..1).unwrap_or("\"");
        if inner.contains('\\') {
            Cow::Owned(inner.replace(&format!("\\{quote}"), quote))
        } else {
            Cow::Borrowed(inner)
        }
    }

    /// Returns the name between the brackets.
    pub(super) fn bracketed_name(&self, token: Token) -> Cow<'s, str> {
        let inner = inside(self.slice(token));
        if !inner.contains('\\') {
            return Cow::Borrowed(inner);
        }
        let mut name = String::with_capacity(inner.len());
        let mut chars = inner.chars().peekable();
        while let Some(c) = chars.next() {
            let escaped = chars.next_if(|next| c == '\\' && matches!(next, '\\' | ']'));
            name.push(escaped.unwrap_or(c));
        }
        Cow::Owned(name)
    }

    /// Returns the parts of a raw block up to its end tag, the name in that tag, and its offset.
    /// Returns `None` if there is no end tag.
    pub(super) fn raw(&mut self) -> Option<RawBlock<'s>> {
        let mut pieces = Vec::new();
        let mut depth = 0;
        loop {
            let start = self.at;
            let open = memmem::find(self.rest().as_bytes(), b"{{{{")? + start;
            if open > start {
                pieces.push((start, open));
            }
            self.at = open + 4;
            if !self.rest().starts_with('/') {
                depth += 1;
                pieces.push((open, self.at));
                continue;
            }
            let Some(name) = self.raw_end() else {
                // This is not an end tag, so the text up to the next four braces is literal.
                let next = memmem::find(self.rest().as_bytes(), b"{{{{")? + self.at;
                pieces.push((open, next));
                self.at = next;
                continue;
            };
            if depth == 0 {
                return Some(RawBlock {
                    pieces,
                    name,
                    end: open,
                });
            }
            depth -= 1;
            pieces.push((open, self.at));
        }
    }

    /// Reads `/name}}}}`.
    fn raw_end(&mut self) -> Option<&'s str> {
        let rest = self.rest().get(1..)?;
        let length = rest.find(|c| !in_name(c))?;
        let (name, after) = rest.split_at(length);
        if name.is_empty() || !after.starts_with("}}}}") {
            return None;
        }
        self.at += 1 + length + 4;
        Some(name)
    }
}

/// Content of a raw block.
#[derive(Debug)]
pub(super) struct RawBlock<'s> {
    pub(super) pieces: Vec<(usize, usize)>,
    pub(super) name: &'s str,
    /// Offset of the end tag.
    pub(super) end: usize,
}

/// Returns the text between the first and the last character, which must be ASCII.
fn inside(text: &str) -> &str {
    text.get(1..text.len().saturating_sub(1))
        .unwrap_or_default()
}

/// Whether a character can be part of a name.
fn in_name(c: char) -> bool {
    match c {
        '!' | '"' | '#' | '%'..=',' | '.' | '/' | ';'..='>' | '@' | '['..='^' | '`' | '{'..='~' => {
            false
        }
        c => !is_space(c),
    }
}
