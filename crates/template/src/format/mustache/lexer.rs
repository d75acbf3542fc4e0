//! Lexer like that of mustache.js. It returns tags and the text between them, and drops lines that
//! contain only tags that print nothing.

use memchr::{memchr, memmem, memrchr};
use quillet_core::Span;

use super::super::javascript::is_space;
use super::ast::LinePosition;
use crate::format::problem::ParseProblem;

/// A token of a source.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token<'t> {
    /// Literal text between two offsets of the source.
    Text(usize, usize, LinePosition),
    Tag(RawTag<'t>),
}

/// A tag in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawTag<'t> {
    pub(super) kind: TagKind,
    pub(super) name: &'t str,
    /// Span of the tag.
    pub(super) span: Span,
    /// Span of the name.
    pub(super) name_span: Span,
    /// The text before the tag on its line, and whether it contains more than blanks. `None` if
    /// another tag precedes it on the line.
    pub(super) before: Option<(&'t str, bool)>,
}

/// Kind of a tag, which its first character determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagKind {
    Value,
    /// `{{{name}}}` or `{{& name}}`.
    RawValue,
    Section,
    Inverted,
    End,
    Partial,
    Comment,
    Delimiters,
}

pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    open: &'t str,
    close: &'t str,
    tokens: Vec<Token<'t>>,
    line: LineState,
}

/// State of the current line.
#[derive(Default)]
struct LineState {
    start: usize,
    /// Indexes of the line's texts in the tokens.
    texts: Vec<usize>,
    tags: usize,
    /// Whether the line has text that is not blank.
    text: bool,
    /// Whether a tag on the line prints.
    prints: bool,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Lexer {
            text,
            at: 0,
            open: "{{",
            close: "}}",
            tokens: Vec::new(),
            line: LineState::default(),
        }
    }

    /// Returns all tokens up to the first error.
    pub(super) fn run(mut self) -> (Vec<Token<'t>>, Option<ParseProblem>) {
        let problem = self.read().err();
        self.end_line(self.text.len());
        (self.tokens, problem)
    }

    /// Returns all tags, including those after errors, and the openings of unclosed tags. Stops
    /// after a number of errors.
    pub(super) fn survey(mut self, most_faults: usize) -> (Vec<Token<'t>>, Vec<Span>) {
        let mut faults = Vec::new();
        while faults.len() < most_faults {
            let Err(problem) = self.read() else {
                break;
            };
            // Only the opening of an unclosed tag was consumed.
            if self.at < problem.span.end {
                self.at = problem.span.end;
            }
            faults.push(problem.span);
        }
        (self.tokens, faults)
    }

    fn read(&mut self) -> Result<(), ParseProblem> {
        while let Some(rest) = self.text.get(self.at..).filter(|rest| !rest.is_empty()) {
            let found = memmem::find(rest.as_bytes(), self.open.as_bytes());
            let end = self.at + found.unwrap_or(rest.len());
            self.literal(end);
            if found.is_some() {
                self.tag()?;
            }
        }
        Ok(())
    }

    /// Reads text up to an offset: the rest of the current line, lines without tags, and the start
    /// of the last line.
    fn literal(&mut self, end: usize) {
        let text = &self.text.as_bytes()[self.at..end];
        let Some(first) = memchr(b'\n', text) else {
            return self.piece(end);
        };
        let last = memrchr(b'\n', text).unwrap_or(first);
        let (first, last) = (self.at + first + 1, self.at + last + 1);
        self.piece(first);
        self.end_line(first);
        if first < last {
            self.piece(last);
            self.end_line(last);
        }
        self.piece(end);
    }

    /// Adds text to the current line.
    fn piece(&mut self, end: usize) {
        let start = self.at;
        self.at = end;
        if start == end {
            return;
        }
        if !self.line.text {
            let is_text = |c: char| !is_space(c);
            self.line.text = self.text[start..end].contains(is_text);
            self.line.prints |= self.line.text;
        }
        self.push_text(start, end);
    }

    fn push_text(&mut self, start: usize, end: usize) {
        let place = match start {
            0 => LinePosition::Source,
            _ if start == self.line.start => LinePosition::Line,
            _ => LinePosition::Inside,
        };
        self.line.texts.push(self.tokens.len());
        self.tokens.push(Token::Text(start, end, place));
    }

    /// Ends the line at an offset. If the line has tags but none of them prints, it is dropped with
    /// its blanks.
    fn end_line(&mut self, next: usize) {
        if self.line.tags > 0 && !self.line.prints {
            for index in &self.line.texts {
                if let Some(token) = self.tokens.get_mut(*index) {
                    *token = Token::Text(next, next, LinePosition::Inside);
                }
            }
        }
        self.line.texts.clear();
        self.line.start = next;
        self.line.tags = 0;
        (self.line.text, self.line.prints) = (false, false);
    }

    fn tag(&mut self) -> Result<(), ParseProblem> {
        let start = self.at;
        if start == self.line.start {
            // This records the position of the indentation, in case the line is kept.
            self.push_text(start, start);
        }
        let before =
            (self.line.tags == 0).then(|| (&self.text[self.line.start..start], self.line.text));
        self.skip(self.open.len());
        let kind = self.kind();
        let name = match kind {
            TagKind::Delimiters => self.until("=", start)?,
            TagKind::RawValue if self.text[..self.at].ends_with('{') => {
                self.skip(0);
                let triple = ["}", self.close].concat();
                self.until(&triple, start)?
            }
            _ => {
                self.skip(0);
                self.until(self.close, start)?
            }
        };
        if kind == TagKind::Delimiters {
            self.until(self.close, start)?;
        }
        let (name_start, name) = name;
        self.tokens.push(Token::Tag(RawTag {
            kind,
            name,
            span: Span {
                start,
                end: self.at,
            },
            name_span: Span {
                start: name_start,
                end: name_start + name.len(),
            },
            before,
        }));
        self.line.tags += 1;
        self.line.prints |= matches!(kind, TagKind::Value | TagKind::RawValue);
        if kind == TagKind::Delimiters {
            self.set_delimiters(name, start)?;
        }
        Ok(())
    }

    /// Skips this number of bytes and the blanks after them.
    fn skip(&mut self, bytes: usize) {
        let rest = self.text.get(self.at + bytes..).unwrap_or_default();
        self.at = self.text.len() - rest.trim_start_matches(is_space).len();
    }

    fn kind(&mut self) -> TagKind {
        let kind = match self.text.as_bytes().get(self.at) {
            Some(b'#') => TagKind::Section,
            Some(b'^') => TagKind::Inverted,
            Some(b'/') => TagKind::End,
            Some(b'>') => TagKind::Partial,
            Some(b'{' | b'&') => TagKind::RawValue,
            Some(b'=') => TagKind::Delimiters,
            Some(b'!') => TagKind::Comment,
            _ => return TagKind::Value,
        };
        self.at += 1;
        kind
    }

    /// Reads the text up to a closing delimiter, and the delimiter. Returns the text without
    /// surrounding blanks, and its offset.
    fn until(&mut self, end: &str, tag: usize) -> Result<(usize, &'t str), ParseProblem> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(length) = memmem::find(rest.as_bytes(), end.as_bytes()) else {
            let problem = ParseProblem::at("Unclosed tag", tag, tag + self.open.len());
            let mut help = format!("close the tag with {end}");
            if !self.text[tag..].contains(self.close) {
                let open = self.open;
                help += &format!("; to print {open}, change the delimiters around it");
            }
            return Err(problem.help(help));
        };
        let start = self.at;
        self.at += length + end.len();
        let text = rest[..length].trim_start_matches(is_space);
        let start = start + length - text.len();
        Ok((start, text.trim_end_matches(is_space)))
    }

    fn set_delimiters(&mut self, given: &'t str, start: usize) -> Result<(), ParseProblem> {
        let mut parts = given.split(is_space).filter(|part| !part.is_empty());
        match (parts.next(), parts.next(), parts.next()) {
            (Some(open), Some(close), None) => {
                (self.open, self.close) = (open, close);
                Ok(())
            }
            _ => {
                let problem = ParseProblem::at(format!("Invalid tags: {given}"), start, self.at);
                Err(problem.help("write two delimiters: {{=<% %>=}}"))
            }
        }
    }
}
