//! Lexer of tags, whitespace control, names, numbers and strings. The whitespace rules are those of
//! jinja2's lexer.

use std::borrow::Cow;
use std::ops::Range;

use quillet_core::Span;

use super::syntax::JinjaPreset;
use crate::format::literals::Literals;
use crate::format::problem::ParseProblem;
use crate::structure::MessageSyntax;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Text(Range<usize>),
    PrintBegin,
    PrintEnd,
    TagBegin,
    TagEnd,
    Name(&'a str),
    Str(Cow<'a, str>),
    Int(i64),
    Float(f64),
    Operator(&'static str),
    End,
}

/// Operators. Those of two characters come first, so that `//` is not read as two divisions.
const OPERATORS: &[&str] = &[
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";",
];

/// Returns the operator at the start of a text.
fn operator(text: &str) -> Option<&'static str> {
    // A comparison of the first byte skips most of the table.
    let first = *text.as_bytes().first()?;
    let begins = |operator: &&&str| {
        operator.as_bytes().first() == Some(&first) && text.starts_with(**operator)
    };
    OPERATORS.iter().find(begins).copied()
}

/// Tokens and their spans.
pub(super) type Tokens<'a> = Vec<(Token<'a>, Span)>;

pub(super) struct Lexer<'a> {
    source: &'a str,
    at: usize,
    preset: JinjaPreset,
    /// Whether the last token ended a line. In that case blanks before a tag are indentation.
    line_start: bool,
    literals: Literals,
    tokens: Tokens<'a>,
    /// Contents of the comments.
    comments: Vec<Span>,
    /// Tags that begin or end raw text.
    raws: Vec<Span>,
}

/// Returns the contents of a source's comments, in order.
pub(super) fn comments(source: &str, preset: JinjaPreset) -> Vec<Span> {
    let mut lexer = Lexer::new(source, preset, MessageSyntax::Plain);
    while lexer.at < source.len() && lexer.text_and_tag().is_ok() {}
    lexer.comments
}

/// Result of scanning a text that may contain errors.
pub(super) struct TemplateScan<'a> {
    /// Tokens, including literal text.
    pub(super) tokens: Tokens<'a>,
    /// Contents of the comments.
    pub(super) comments: Vec<Span>,
    /// Tags that begin or end raw text, with the white space that they remove.
    pub(super) raws: Vec<Span>,
    /// Whether the last tag is unclosed but otherwise valid.
    pub(super) is_open: bool,
}

/// Scans a text. After an error, scanning continues at the next tag, up to a number of errors.
pub(super) fn survey(source: &str, preset: JinjaPreset, most_faults: usize) -> TemplateScan<'_> {
    let mut lexer = Lexer::new(source, preset, MessageSyntax::Plain);
    let mut is_open = false;
    for _ in 0..most_faults {
        let mut fault = None;
        while lexer.at < source.len() && fault.is_none() {
            fault = lexer.text_and_tag().err();
        }
        let Some(fault) = fault else {
            break;
        };
        if lexer.at >= source.len() {
            is_open = true;
            break;
        }
        // Unclosed raw text extends to the end of the source.
        if lexer.raws.len() % 2 == 1 {
            break;
        }
        // A tag is recognized wherever scanning begins. The next attempt starts at least one byte
        // later, so that every attempt makes progress.
        let from = fault.span.start.max(lexer.at).saturating_add(1);
        let rest = source.get(ceil(source, from)..).unwrap_or_default();
        let Some((next, _)) = next_tag(rest) else {
            break;
        };
        lexer.at = source.len() - rest.len() + next;
    }
    TemplateScan {
        tokens: lexer.tokens,
        comments: lexer.comments,
        raws: lexer.raws,
        is_open,
    }
}

/// Returns the next character boundary at or after an offset.
fn ceil(source: &str, mut at: usize) -> usize {
    while at < source.len() && !source.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[derive(Clone, Copy, PartialEq)]
enum TagKind {
    Print,
    Block,
    Comment,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str, preset: JinjaPreset, messages: MessageSyntax) -> Self {
        Lexer {
            source,
            at: 0,
            preset,
            line_start: true,
            literals: Literals::new(source.len(), messages),
            // This estimate fits most templates and wastes little memory.
            tokens: Vec::with_capacity((source.len() / 8).min(1024)),
            comments: Vec::new(),
            raws: Vec::new(),
        }
    }

    /// Returns the tokens, and the literal text to which they refer.
    pub(super) fn run(mut self) -> Result<(Tokens<'a>, Literals), ParseProblem> {
        while self.at < self.source.len() {
            self.text_and_tag()?;
        }
        self.push(Token::End, self.at);
        Ok((self.tokens, self.literals))
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn push(&mut self, token: Token<'a>, start: usize) {
        let end = self.at;
        self.tokens.push((token, Span { start, end }));
    }

    fn text(&mut self, text: &'a str, start: usize) {
        if text.is_empty() {
            return;
        }
        let place = self.literals.add(&newlines(text), start);
        self.push(Token::Text(place), start);
    }

    fn text_and_tag(&mut self) -> Result<(), ParseProblem> {
        let start = self.at;
        let Some((offset, tag)) = next_tag(self.rest()) else {
            let text = without_last_newline(self.rest());
            self.at = self.source.len();
            self.text(text, start);
            return Ok(());
        };
        let text = &self.rest()[..offset];
        let sign = self.rest()[offset + 2..].chars().next();
        let text = self.before_tag(text, tag, sign);
        self.text(text, start);
        let begin = start + offset;
        // The sign in `{%-` and `{%+` is part of the delimiter.
        self.at = begin + 2 + usize::from(matches!(sign, Some('-' | '+')));
        match tag {
            TagKind::Comment => self.comment(begin),
            TagKind::Block if self.raw_begin() => self.raw(begin),
            TagKind::Block => self.inside(begin, Token::TagBegin, "%}"),
            TagKind::Print => self.inside(begin, Token::PrintBegin, "}}"),
        }
    }

    /// Returns the text before a tag after whitespace control.
    fn before_tag(&self, text: &'a str, tag: TagKind, sign: Option<char>) -> &'a str {
        match sign {
            Some('-') => return text.trim_end(),
            Some('+') => return text,
            _ => {}
        }
        if !self.preset.trims() || tag == TagKind::Print {
            return text;
        }
        // Only blanks on the line of the tag are dropped.
        let line = text.rfind('\n').map(|newline| newline + 1);
        let line = match (line, self.line_start) {
            (Some(line), _) => line,
            (None, true) => 0,
            (None, false) => return text,
        };
        if text[line..].trim().is_empty() {
            &text[..line]
        } else {
            text
        }
    }

    /// Consumes the end of a tag if this closing mark is next.
    fn close(&mut self, mark: &str) -> bool {
        let rest = self.rest();
        if !rest.starts_with(['-', '+', '}', '%', '#']) {
            return false;
        }
        if let Some(after) = rest.strip_prefix('-').and_then(|r| r.strip_prefix(mark)) {
            self.at += 1 + mark.len() + after.len() - after.trim_start().len();
        } else if let (true, Some(_)) = (
            // In jinja2 the plus in `+}}` is an operator.
            mark != "}}",
            rest.strip_prefix('+').and_then(|r| r.strip_prefix(mark)),
        ) {
            self.at += 1 + mark.len();
        } else if let Some(after) = rest.strip_prefix(mark) {
            self.at += mark.len();
            // Only block tags and comments remove the newline after them.
            if self.preset.trims() && mark != "}}" {
                self.at += after.len() - skip_newline(after).len();
            }
        } else {
            return false;
        }
        self.line_start = self.source[..self.at].ends_with('\n');
        true
    }

    fn comment(&mut self, begin: usize) -> Result<(), ParseProblem> {
        let Some(end) = self.rest().find("#}") else {
            return Err(
                ParseProblem::at("missing end of comment tag", begin, begin + 2)
                    .help("close the comment with #}"),
            );
        };
        let close = self.at + end;
        // The sign in `-#}` and `+#}` controls whitespace and is not part of the comment.
        let signed = end > 0 && matches!(self.source.as_bytes()[close - 1], b'-' | b'+');
        self.comments.push(Span {
            start: self.at,
            end: close - usize::from(signed),
        });
        self.at = close - usize::from(signed);
        self.close("#}");
        Ok(())
    }

    /// Consumes `raw %}`, if it is next.
    fn raw_begin(&mut self) -> bool {
        let Some(after) = self.rest().trim_start().strip_prefix("raw") else {
            return false;
        };
        let after = after.trim_start();
        let (after, strip) = match after.strip_prefix('-') {
            Some(after) => (after, true),
            None => (after, false),
        };
        let Some(mut after) = after.strip_prefix("%}") else {
            return false;
        };
        if strip {
            after = after.trim_start();
        }
        self.at = self.source.len() - after.len();
        true
    }

    fn raw(&mut self, begin: usize) -> Result<(), ParseProblem> {
        let start = self.at;
        self.line_start = self.source[..start].ends_with('\n');
        self.raws.push(Span {
            start: begin,
            end: start,
        });
        let mut from = start;
        while let Some(offset) = self.source[from..].find("{%") {
            let tag = from + offset;
            self.at = tag + 2;
            let sign = self.rest().chars().next();
            self.at += usize::from(matches!(sign, Some('-' | '+')));
            self.at += self.rest().len() - self.rest().trim_start().len();
            if let Some(after) = self.rest().strip_prefix("endraw") {
                self.at = self.source.len() - after.trim_start().len();
                let line_start = self.line_start;
                if self.close("%}") {
                    let end = self.at;
                    self.raws.push(Span { start: tag, end });
                    // Blanks before `endraw` are indentation only if they start a line of the raw
                    // text.
                    let after = std::mem::replace(&mut self.line_start, line_start);
                    let text = self.before_tag(&self.source[start..tag], TagKind::Block, sign);
                    self.line_start = after;
                    self.text(text, start);
                    return Ok(());
                }
            }
            from = tag + 2;
        }
        Err(
            ParseProblem::at("missing end of raw directive", begin, begin + 2)
                .help("close it with {% endraw %}"),
        )
    }

    fn inside(
        &mut self,
        begin: usize,
        token: Token<'a>,
        mark: &'static str,
    ) -> Result<(), ParseProblem> {
        let end = match token {
            Token::PrintBegin => Token::PrintEnd,
            _ => Token::TagEnd,
        };
        self.push(token, begin);
        let mut open: Vec<&'static str> = Vec::new();
        loop {
            self.skip_blanks();
            let start = self.at;
            // Inside brackets, `}}` closes two dicts instead of the tag.
            if open.is_empty() && self.close(mark) {
                self.push(end, start);
                return Ok(());
            }
            let Some(first) = self.rest().chars().next() else {
                return Err(ParseProblem::at(
                    format!("unexpected end of template, expected {mark:?}"),
                    begin,
                    begin + 2,
                )
                .help(format!("close the tag with {mark}")));
            };
            let token = self.token(first, &mut open)?;
            self.push(token, start);
        }
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        let blanks = rest.bytes().take_while(|byte| *byte == b' ').count();
        // Fast path: blanks other than a space are rare after a token.
        if rest
            .as_bytes()
            .get(blanks)
            .is_some_and(u8::is_ascii_graphic)
        {
            self.at += blanks;
        } else {
            self.at += rest.len() - rest.trim_start().len();
        }
    }

    fn token(
        &mut self,
        first: char,
        open: &mut Vec<&'static str>,
    ) -> Result<Token<'a>, ParseProblem> {
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '"' || first == '\'' {
            return self.string(first);
        }
        if first.is_alphabetic() || first == '_' {
            let end = word_end(self.rest());
            let name = &self.rest()[..end];
            self.at += end;
            return Ok(Token::Name(name));
        }
        let found = operator(self.rest());
        let Some(operator) = found else {
            let end = self.at + first.len_utf8();
            return Err(ParseProblem::at(
                format!("unexpected char {first:?}"),
                self.at,
                end,
            ));
        };
        self.bracket(operator, open)?;
        self.at += operator.len();
        Ok(Token::Operator(operator))
    }

    /// Matches brackets. While a bracket is open, `}}` does not end a tag.
    fn bracket(
        &self,
        operator: &'static str,
        open: &mut Vec<&'static str>,
    ) -> Result<(), ParseProblem> {
        let closing = match operator {
            "(" => ")",
            "[" => "]",
            "{" => "}",
            _ => "",
        };
        if !closing.is_empty() {
            open.push(closing);
        }
        if !matches!(operator, ")" | "]" | "}") {
            return Ok(());
        }
        let expected = open.pop();
        let message = match expected {
            Some(expected) if expected == operator => return Ok(()),
            Some(expected) => format!("unexpected {operator:?}, expected {expected:?}"),
            None => format!("unexpected {operator:?}"),
        };
        Err(ParseProblem::at(message, self.at, self.at + operator.len()))
    }

    fn number(&mut self) -> Result<Token<'a>, ParseProblem> {
        let start = self.at;
        let rest = self.rest();
        let radix = match rest.get(..2).map(str::to_ascii_lowercase).as_deref() {
            Some("0x") => 16,
            Some("0o") => 8,
            Some("0b") => 2,
            _ => 10,
        };
        let prefix = if radix == 10 { 0 } else { 2 };
        let digits = |c: char| !(c.is_digit(radix) || c == '_');
        let mut end = prefix + rest[prefix..].find(digits).unwrap_or(rest.len() - prefix);
        let float = radix == 10 && {
            let whole = end;
            end += fraction(&rest[end..]);
            end += exponent(&rest[end..]);
            end > whole
        };
        self.at += end;
        let text = rest[prefix..end].replace('_', "");
        let token = if float {
            text.parse().ok().map(Token::Float)
        } else {
            i64::from_str_radix(&text, radix).ok().map(Token::Int)
        };
        token.ok_or_else(|| ParseProblem::at("the number does not fit 64 bits", start, self.at))
    }

    fn string(&mut self, quote: char) -> Result<Token<'a>, ParseProblem> {
        let start = self.at;
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((offset, c)) = characters.next() {
            if c == '\\' {
                characters.next();
            } else if c == quote {
                self.at = start + offset + 1;
                let text = &self.source[start + 1..start + offset];
                return Ok(Token::Str(if text.contains(['\\', '\r']) {
                    unescape(&newlines(text)).into()
                } else {
                    text.into()
                }));
            }
        }
        let problem = ParseProblem::at("unexpected end of template in a string", start, start + 1);
        Err(problem.help("close the string"))
    }
}

/// Returns the end of the name at the start of a text.
fn word_end(text: &str) -> usize {
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let ascii = text.bytes().take_while(in_word).count();
    // The slow search is needed only for a word with characters outside ASCII.
    if text.as_bytes().get(ascii).is_none_or(u8::is_ascii) {
        return ascii;
    }
    let other = |c: char| !(c.is_alphanumeric() || c == '_');
    text.find(other).unwrap_or(text.len())
}

/// Finds the first tag in a text.
fn next_tag(text: &str) -> Option<(usize, TagKind)> {
    let mut from = 0;
    while let Some(offset) = text[from..].find('{') {
        let at = from + offset;
        let tag = match text.as_bytes().get(at + 1) {
            Some(b'{') => TagKind::Print,
            Some(b'%') => TagKind::Block,
            Some(b'#') => TagKind::Comment,
            _ => {
                from = at + 1;
                continue;
            }
        };
        return Some((at, tag));
    }
    None
}

/// Returns the length of a fraction such as `.5`, or 0.
fn fraction(text: &str) -> usize {
    let Some(after) = text.strip_prefix('.') else {
        return 0;
    };
    match after.find(|c: char| !(c.is_ascii_digit() || c == '_')) {
        Some(0) => 0,
        Some(end) => 1 + end,
        None => text.len() * usize::from(text.len() > 1),
    }
}

/// Returns the length of an exponent such as `e+5`, or 0.
fn exponent(text: &str) -> usize {
    let Some(after) = text.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let digits = after.strip_prefix(['+', '-']).unwrap_or(after);
    let end = digits
        .find(|c: char| !(c.is_ascii_digit() || c == '_'))
        .unwrap_or(digits.len());
    match end {
        0 => 0,
        end => text.len() - digits.len() + end,
    }
}

fn skip_newline(text: &str) -> &str {
    let text = text.strip_prefix('\r').unwrap_or(text);
    text.strip_prefix('\n').unwrap_or(text)
}

/// Returns the text without its last newline, which jinja2 drops at the end of a template.
fn without_last_newline(text: &str) -> &str {
    match text.strip_suffix('\n') {
        Some(text) => text.strip_suffix('\r').unwrap_or(text),
        None => text.strip_suffix('\r').unwrap_or(text),
    }
}

fn newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Decodes Python's escapes. Unknown escapes stay unchanged.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(escape) = rest.chars().next() else {
            out.push('\\');
            break;
        };
        rest = &rest[escape.len_utf8()..];
        let digits = match escape {
            'n' => push(&mut out, '\n'),
            't' => push(&mut out, '\t'),
            'r' => push(&mut out, '\r'),
            'a' => push(&mut out, '\x07'),
            'b' => push(&mut out, '\x08'),
            'f' => push(&mut out, '\x0c'),
            'v' => push(&mut out, '\x0b'),
            '0' => push(&mut out, '\0'),
            '\\' | '\'' | '"' => push(&mut out, escape),
            '\n' => 0,
            'x' => 2,
            'u' => 4,
            'U' => 8,
            other => {
                // Python keeps an unknown escape with its backslash.
                out.push('\\');
                push(&mut out, other)
            }
        };
        if digits == 0 {
            continue;
        }
        let code = rest
            .get(..digits)
            .and_then(|d| u32::from_str_radix(d, 16).ok());
        match code.and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                rest = &rest[digits..];
            }
            None => {
                out.push('\\');
                out.push(escape);
            }
        }
    }
    out.push_str(rest);
    out
}

fn push(out: &mut String, c: char) -> usize {
    out.push(c);
    0
}
