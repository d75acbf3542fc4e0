//! `[[…]]` in a message.
//!
//! Only text by the author is parsed; an inserted value is never parsed again. Anything that is not
//! a valid hole stays text: `[[1,2],[3]]`, `[[ "x" ]]`, or an unclosed hole.

use std::ops::Range;

/// A part of a message's text. The parts, joined in order, are the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolePart {
    /// Plain text.
    Text(Range<usize>),
    /// A hole to fill.
    Hole(Hole),
    /// The start of a call that is invalid. It should not be sent to a model.
    Broken(BrokenHole),
}

/// `[[…]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The byte range in the text, including the brackets.
    pub range: Range<usize>,
    /// Its kind.
    pub kind: HoleKind,
}

/// The kind of a hole. Ranges are byte ranges in the message's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoleKind {
    /// `[[NAME]]`, `[[NAME:parameters]]`: the model's answer, which is stored in the variable.
    Ai {
        /// The variable: a name, also with CJK characters, or a dotted path.
        name: String,
        /// The raw text after the colon: `temperature=0.1`, or `|a|b:random`.
        parameters: Option<Range<usize>>,
    },
    /// `[[@script(arguments)]]` and `[[@$directive]]`.
    Call {
        /// Whether it calls a script instead of a directive.
        script: bool,
        /// Its name without `@` and `$`. A path such as `a/b.c` is allowed.
        name: String,
        /// The raw text in the parentheses; `None` without parentheses.
        arguments: Option<Range<usize>>,
    },
    /// `[[/pattern/flags:VARIABLE:group]]`.
    Regex {
        /// The pattern as written, with or without escaped slashes.
        pattern: Range<usize>,
        /// Flags as in JavaScript: `i`, `m`, `s`, `u`, `g`…
        flags: String,
        /// The variable whose text is searched.
        variable: String,
        /// A group number or name. Default: group 1 if it exists, otherwise the whole match.
        group: Option<String>,
    },
}

/// A hole whose call cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenHole {
    /// The byte range in the text.
    pub range: Range<usize>,
    /// The problem.
    pub message: String,
    /// How to fix the problem.
    pub help: &'static str,
}

/// Returns whether `text` may contain holes. If the result is `false`, there are certainly no
/// holes.
#[must_use]
pub fn may_have_holes(text: &str) -> bool {
    text.contains("[[")
}

/// Splits a message's text into parts. The time is linear in the length of the text.
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
            // Continues at the next byte, because in `[[[name]]` the hole begins at the second
            // bracket.
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

/// Parses one hole at a time and remembers failed searches.
struct HoleReader<'t> {
    text: &'t str,
    /// Remaining budget in bytes for failed searches. Once it is used up, quotes and brackets are
    /// not balanced any more.
    patience: usize,
    /// No regular expression that begins before this offset is closed.
    no_regex_before: usize,
    /// Offset of the last `]]`. A hole after it cannot be closed.
    last_close: usize,
}

impl<'t> HoleReader<'t> {
    fn new(text: &'t str) -> Self {
        HoleReader {
            text,
            // A single budget for all failed searches keeps the parsing time linear for malicious
            // text.
            patience: 4 * text.len(),
            no_regex_before: 0,
            last_close: text.rfind("]]").unwrap_or(0),
        }
    }

    fn rest(&self, from: usize) -> &'t str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Parses the hole whose brackets start at `open`, if it is one.
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

    /// Returns a broken hole for a call that is closed but invalid, or `None` if it is not closed.
    fn broken(&self, open: usize, message: String) -> Option<HolePart> {
        let end = self.first_close(open)? + 2;
        Some(HolePart::Broken(BrokenHole {
            range: open..end,
            message,
            help: "write [[@name]] or [[@name(arguments)]]",
        }))
    }

    /// Parses a regular expression, which may contain `]]` and `/`. It ends at the first `]]` on
    /// its line that follows `/flags:VARIABLE`.
    fn regex(&mut self, open: usize, at: usize) -> Option<HolePart> {
        // The search on this line has already failed. Repeating it at each `[[/` would take
        // quadratic time.
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

    /// Returns the offset of the closing `]]`. This is the first one outside of quotes and brackets,
    /// or simply the first one if all are inside.
    fn close(&mut self, from: usize) -> Option<usize> {
        // Without any later `]]`, the hole cannot be closed, and the brackets need not be balanced.
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

/// Returns the variable name or path at the start of a text.
fn variable(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_name(c) && c != '.').unwrap_or(text.len());
    let name = text.get(..end)?;
    let good = |part: &str| part.starts_with(|c: char| is_name(c) && !c.is_numeric());
    name.split('.').all(good).then_some(name)
}

/// Returns the script or directive name at the start of a text.
fn callee(text: &str) -> &str {
    let is_part = |c: char| is_name(c) || matches!(c, '.' | '-' | '/' | '#' | ':');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Returns the byte length of a colon at the start of a text.
fn colon(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    matches!(first, ':' | '：').then(|| first.len_utf8())
}

/// Returns the byte length of an opening parenthesis at the start of a text.
fn parenthesis(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    matches!(first, '(' | '（').then(|| first.len_utf8())
}

// Maximum length of `/flags:VARIABLE:group` in bytes. `regex` tries each `]]` of a line, and this
// limit keeps each try cheap.
const TAIL: usize = 256;

/// Parses `pattern/flags:VARIABLE` or `pattern/flags:VARIABLE:group`, which starts at offset `at`.
fn regex_of(body: &str, at: usize) -> Option<HoleKind> {
    let mut tail = body.len().saturating_sub(TAIL);
    // Slicing inside a character would fail, so the offset is moved to a boundary.
    while !body.is_char_boundary(tail) {
        tail += 1;
    }
    // The last slash is used, because the pattern may contain unescaped slashes.
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

/// Returns the offset of `]]` outside of quotes and brackets, or else the number of scanned bytes.
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
                // An unclosed quote is an ordinary character.
                Err(looked) if looked > SHORT => return Err(at + looked),
                Err(_) => {}
            },
            '(' | '[' | '{' | '（' => open.push(c),
            ')' | '}' | ']' | '）' => match open.pop() {
                Some(opened) if pairs(opened, c) => {}
                // This may close the parenthesis of the call itself, which opens before `text`.
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

/// Maximum number of bytes that are scanned again after an unclosed quote.
const SHORT: usize = 256;

/// Returns whether a quote after this character starts a string. The quote in `it's` does not.
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

/// Returns the length of a one-line string including its quotes, or else the number of scanned
/// bytes.
fn quoted(text: &str, quote: char) -> Result<usize, usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            // Only a template literal can contain line breaks. Any other unclosed quote is an
            // apostrophe.
            '\n' if quote != '`' => return Err(at),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Ok(at + c.len_utf8()),
            _ => {}
        }
    }
    Err(text.len())
}
