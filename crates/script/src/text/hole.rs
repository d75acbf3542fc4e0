//! `[[…]]` in a message.
//!
//! Only the author's text is looked at: what is put into a hole is never read again.
//! What is no hole stays text: `[[1,2],[3]]`, `[[ "x" ]]`, and what is not closed.

use std::ops::Range;

/// A part of a message's text; together the parts are all of it, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolePart {
    /// Text as it is.
    Text(Range<usize>),
    /// Something to put in.
    Hole(Hole),
    /// Begins as a call and is none: nothing that a model should read.
    Broken(BrokenHole),
}

/// `[[…]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Its bytes in the text, brackets and all.
    pub range: Range<usize>,
    /// What is put in.
    pub kind: HoleKind,
}

/// The kind of a hole: what is put into it. Ranges are bytes of the message's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoleKind {
    /// `[[NAME]]`, `[[NAME:parameters]]`: the model's answer, which the variable then has.
    Ai {
        /// The variable; may be CJK, and a path with dots.
        name: String,
        /// What stands after the colon, raw: `temperature=0.1`, or `|a|b:random`.
        parameters: Option<Range<usize>>,
    },
    /// `[[@script(arguments)]]` and `[[@$directive]]`.
    Call {
        /// A script, or else one of the script's own directives.
        script: bool,
        /// Its name without `@` and `$`; may be a path as `a/b.c`.
        name: String,
        /// What is in its parentheses, raw; `None` without parentheses.
        arguments: Option<Range<usize>>,
    },
    /// `[[/pattern/flags:VARIABLE:group]]`.
    Regex {
        /// The pattern as it is written: its slashes may be escaped or not.
        pattern: Range<usize>,
        /// `i`, `m`, `s`, `u`, `g`… as in JavaScript.
        flags: String,
        /// The variable whose text is searched.
        variable: String,
        /// A group's number or name. Without: group 1 where there is one, else all of the match.
        group: Option<String>,
    },
}

/// A call in a text that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenHole {
    /// Its bytes in the text, as far as it goes.
    pub range: Range<usize>,
    /// The problem.
    pub message: String,
    /// How to fix it.
    pub help: &'static str,
}

/// Whether a text may have holes: false is certain.
#[must_use]
pub fn may_have_holes(text: &str) -> bool {
    text.contains("[[")
}

/// The parts of a text. Linear in its length, whatever is in it.
///
/// ```
/// use quillet_script::text::hole::{HolePart, holes};
///
/// let parts = holes("Hi [[name]]!");
/// assert_eq!(parts[0], HolePart::Text(0..3));
/// assert!(matches!(parts[1], HolePart::Hole(_)));
/// assert_eq!(parts[2], HolePart::Text(11..12));
/// ```
#[must_use]
pub fn holes(text: &str) -> Vec<HolePart> {
    let mut reader = HoleReader::new(text);
    let mut pieces = Vec::new();
    let mut done = 0;
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("[[")) {
        let open = from + found;
        let Some(piece) = reader.piece(open) else {
            // One byte further: in `[[[name]]` the hole begins at the second bracket.
            from = open + 1;
            continue;
        };
        if done < open {
            pieces.push(HolePart::Text(done..open));
        }
        done = end_of(&piece);
        from = done;
        pieces.push(piece);
    }
    if done < text.len() {
        pieces.push(HolePart::Text(done..text.len()));
    }
    pieces
}

fn end_of(piece: &HolePart) -> usize {
    match piece {
        HolePart::Text(range) => range.end,
        HolePart::Hole(hole) => hole.range.end,
        HolePart::Broken(broken) => broken.range.end,
    }
}

/// Reads one hole at a time, and remembers what it looked for in vain.
struct HoleReader<'t> {
    text: &'t str,
    /// Bytes that may still be looked through in vain before quotes and brackets count no more.
    patience: usize,
    /// No regexp that begins before this closes.
    no_regex_before: usize,
    /// Where the last `]]` stands: what begins behind it is not looked through.
    last_close: usize,
}

impl<'t> HoleReader<'t> {
    fn new(text: &'t str) -> Self {
        HoleReader {
            text,
            // One budget for all fruitless searches keeps the scan linear on hostile text.
            patience: 4 * text.len(),
            no_regex_before: 0,
            last_close: text.rfind("]]").unwrap_or(0),
        }
    }

    fn rest(&self, from: usize) -> &'t str {
        self.text.get(from..).unwrap_or_default()
    }

    /// What begins with the brackets at `open`, if anything does.
    fn piece(&mut self, open: usize) -> Option<HolePart> {
        let at = skip_blanks(self.text, open + 2);
        match self.rest(at).chars().next()? {
            '@' => self.call(open, at + 1),
            '/' => self.regex(open, at + 1),
            _ => self.ai(open, at),
        }
    }

    fn ai(&mut self, open: usize, at: usize) -> Option<HolePart> {
        let name = variable(self.rest(at))?;
        let after = skip_blanks(self.text, at + name.len());
        let (parameters, end) = match colon(self.rest(after)) {
            None => (None, after),
            Some(colon) => {
                let end = self.close(after + colon)?;
                (Some(after + colon..end), end)
            }
        };
        self.rest(end).starts_with("]]").then(|| {
            let name = name.to_owned();
            hole(open, end, HoleKind::Ai { name, parameters })
        })
    }

    fn call(&mut self, open: usize, at: usize) -> Option<HolePart> {
        let script = !self.rest(at).starts_with('$');
        let at = at + usize::from(!script);
        let name: &str = callee(self.rest(at));
        let after = skip_blanks(self.text, at + name.len());
        let rest = self.rest(after);
        if name.is_empty() {
            return self.broken(open, "missing name of a call after @".to_owned());
        }
        let name = name.to_owned();
        if rest.starts_with("]]") {
            let arguments = None;
            let kind = HoleKind::Call {
                script,
                name,
                arguments,
            };
            return Some(hole(open, after, kind));
        }
        let Some(inside) = parenthesis(rest).map(|width| after + width) else {
            let message = format!("unexpected text after the call of {name:?}: expected (…)");
            return self.broken(open, message);
        };
        let end = self.close(inside)?;
        let within = self.text.get(inside..end).unwrap_or_default().trim_end();
        let Some(arguments) = within.strip_suffix([')', '）']) else {
            return self.broken(open, format!("unclosed parenthesis of {name:?}"));
        };
        let arguments = Some(inside..inside + arguments.len());
        Some(hole(
            open,
            end,
            HoleKind::Call {
                script,
                name,
                arguments,
            },
        ))
    }

    /// A call that is closed and wrong; text where it is not even closed.
    fn broken(&self, open: usize, message: String) -> Option<HolePart> {
        let end = self.first_close(open)? + 2;
        Some(HolePart::Broken(BrokenHole {
            range: open..end,
            message,
            help: "write [[@name]] or [[@name(arguments)]]",
        }))
    }

    /// The pattern's own `]]` and `/` do not end it: it ends at the first `]]` that has
    /// `/flags:VARIABLE` before it, on the same line.
    fn regex(&mut self, open: usize, at: usize) -> Option<HolePart> {
        // This line was searched in vain before; repeating that at each `[[/` would be quadratic.
        if open < self.no_regex_before {
            return None;
        }
        let rest = self.rest(at);
        let line = rest.split('\n').next().unwrap_or_default();
        let mut from = 0;
        while let Some(found) = line.get(from..).and_then(|rest| rest.find("]]")) {
            let end = from + found;
            if let Some(kind) = line.get(..end).and_then(|body| regex_of(body, at)) {
                return Some(hole(open, at + end, kind));
            }
            from = end + 1;
        }
        self.no_regex_before = at + line.len();
        None
    }

    /// Where the `]]` stands that closes what begins at `from`: outside of quotes and of
    /// brackets, or else the first there is.
    fn close(&mut self, from: usize) -> Option<usize> {
        // The cheap test first: without a `]]` behind it there is nothing to balance.
        let first = self.first_close(from)?;
        if self.patience > 0 {
            match balanced(self.rest(from)) {
                Ok(length) => return Some(from + length),
                Err(looked) => self.patience = self.patience.saturating_sub(looked),
            }
        }
        Some(first)
    }

    fn first_close(&self, from: usize) -> Option<usize> {
        if from > self.last_close {
            return None;
        }
        self.rest(from).find("]]").map(|length| from + length)
    }
}

fn hole(open: usize, close: usize, kind: HoleKind) -> HolePart {
    let range = open..close + 2;
    HolePart::Hole(Hole { range, kind })
}

fn skip_blanks(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    text.len() - rest.trim_start_matches([' ', '\t']).len()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// A variable's name or path at the beginning of a text.
fn variable(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_name(c) && c != '.').unwrap_or(text.len());
    let name = text.get(..end)?;
    let good = |part: &str| part.starts_with(|c: char| is_name(c) && !c.is_numeric());
    name.split('.').all(good).then_some(name)
}

/// A script's or a directive's name at the beginning of a text.
fn callee(text: &str) -> &str {
    let is_part = |c: char| is_name(c) || matches!(c, '.' | '-' | '/' | '#' | ':');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// The width of a colon at the beginning of a text.
fn colon(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    matches!(first, ':' | '：').then(|| first.len_utf8())
}

/// The width of an opening parenthesis at the beginning of a text.
fn parenthesis(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    matches!(first, '(' | '（').then(|| first.len_utf8())
}

// `regex` tries every `]]` of a line; a bounded tail keeps each try cheap.
/// Bytes of `/flags:VARIABLE:group` at most.
const TAIL: usize = 256;

/// `pattern/flags:VARIABLE` or `pattern/flags:VARIABLE:group`; `at` is where it begins.
fn regex_of(body: &str, at: usize) -> Option<HoleKind> {
    let mut tail = body.len().saturating_sub(TAIL);
    // The window may begin inside a character, and a slice from there would fail.
    while !body.is_char_boundary(tail) {
        tail += 1;
    }
    // The last slash, because the pattern may contain slashes without escapes.
    let slash = tail + body.get(tail..)?.rfind('/')?;
    let (pattern, tail) = (body.get(..slash)?, body.get(slash + 1..)?);
    let mut fields = tail.split([':', '：']).map(str::trim);
    let flags = fields.next()?;
    let variable_text = fields.next()?;
    let group = fields.next();
    let plain = flags.chars().all(|c| c.is_ascii_lowercase());
    let named = variable(variable_text) == Some(variable_text);
    let grouped = group.is_none_or(|group| !group.is_empty() && group.chars().all(is_name));
    if pattern.is_empty() || !plain || !named || !grouped || fields.next().is_some() {
        return None;
    }
    Some(HoleKind::Regex {
        pattern: at..at + slash,
        flags: flags.to_owned(),
        variable: variable_text.to_owned(),
        group: group.map(str::to_owned),
    })
}

/// Where `]]` stands outside of quotes and brackets; else how many bytes were looked at.
fn balanced(text: &str) -> Result<usize, usize> {
    let mut open: Vec<char> = Vec::new();
    let mut before = ' ';
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        if open.is_empty() && rest.starts_with("]]") {
            return Ok(at);
        }
        match c {
            '"' | '\'' | '`' if opens_quote(before) => match quoted(rest, c) {
                Ok(length) => at += length - c.len_utf8(),
                // A quote that nothing closes is a character as any other.
                Err(looked) if looked > SHORT => return Err(at + looked),
                Err(_) => {}
            },
            '(' | '[' | '{' | '（' => open.push(c),
            ')' | '}' | ']' | '）' => match open.pop() {
                Some(opened) if pairs(opened, c) => {}
                // The parenthesis of the call itself opens before `text`.
                None if matches!(c, ')' | '）') => {}
                _ => return Err(at + 1),
            },
            _ => {}
        }
        before = c;
        at += c.len_utf8();
    }
    Err(text.len())
}

/// A line without its closing quote may be looked through this often.
const SHORT: usize = 256;

/// Whether a quote after this character begins a string: the one in `it's` does not.
fn opens_quote(before: char) -> bool {
    before.is_whitespace()
        || matches!(
            before,
            '=' | ',' | '(' | '[' | '{' | '|' | ':' | '，' | '：' | '（' | '+' | '!'
        )
}

fn pairs(open: char, close: char) -> bool {
    match open {
        '(' | '（' => matches!(close, ')' | '）'),
        '[' => close == ']',
        _ => close == '}',
    }
}

/// The length of a string with its quotes, on one line; else how many bytes were looked at.
fn quoted(text: &str, quote: char) -> Result<usize, usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            // Only a template literal spans lines; any other open quote is an apostrophe.
            '\n' if quote != '`' => return Err(at),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Ok(at + c.len_utf8()),
            _ => {}
        }
    }
    Err(text.len())
}
