//! Splits a text at marks outside of quotes and brackets.

/// A part of the argument text and its offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgumentText<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
}

impl<'a> ArgumentText<'a> {
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(crate) fn trimmed(self) -> ArgumentText<'a> {
        let text = self.text.trim_start();
        let start = self.end() - text.len();
        let text = text.trim_end();
        ArgumentText { text, start }
    }

    /// Returns the part between two byte offsets.
    pub(crate) fn part(self, from: usize, to: usize) -> ArgumentText<'a> {
        ArgumentText {
            text: self.text.get(from..to).unwrap_or(""),
            start: self.start + from,
        }
    }
}

/// Splits at each character outside of quotes and brackets for which `is_mark` is true. `is_mark`
/// receives the character and the part before it.
pub(crate) fn pieces(text: &str, is_mark: impl Fn(char, &str) -> bool) -> Vec<ArgumentText<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut scan = BracketScanner::new(text);
    while let Some((at, c)) = scan.next_outside() {
        if is_mark(c, &text[start..at]) {
            pieces.push(ArgumentText {
                text: &text[start..at],
                start,
            });
            start = at + c.len_utf8();
        }
    }
    pieces.push(ArgumentText {
        text: &text[start..],
        start,
    });
    pieces
}

/// Finds the first character outside of quotes and brackets for which `test` is true.
pub(crate) fn find_outside(text: &str, test: impl Fn(usize, char) -> bool) -> Option<usize> {
    let mut scan = BracketScanner::new(text);
    while let Some((at, c)) = scan.next_outside() {
        if test(at, c) {
            return Some(at);
        }
    }
    None
}

/// Returns the offset of the bracket that closes the one at the start of `text`.
pub(crate) fn closing(text: &str) -> Option<usize> {
    let mut scan = BracketScanner::new(text);
    while let Some((at, c)) = scan.step() {
        if scan.depth == 0 && is_closing(c) {
            return Some(at);
        }
    }
    None
}

/// Splits `name = value`, or returns the whole text as the value.
pub(crate) fn named(piece: ArgumentText<'_>) -> (Option<&str>, ArgumentText<'_>) {
    let text = piece.text;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-');
    let starts = |c: char| c.is_alphabetic() || matches!(c, '_' | '$');
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let after = text[end..].trim_start();
    let assigned = after.strip_prefix(['=', '＝']);
    match assigned {
        Some(value) if text.starts_with(starts) && !value.starts_with(['=', '>']) => {
            let from = text.len() - value.len();
            (Some(&text[..end]), piece.part(from, text.len()))
        }
        _ => (None, piece),
    }
}

/// Returns the text between the quotes that enclose a whole text. Resolves JavaScript escapes and
/// accepts unescaped quotes inside.
pub(crate) fn unquote(text: &str) -> Option<String> {
    let open = text.chars().next()?;
    let close = closing_quote(open)?;
    let inner = text.strip_prefix(open)?.strip_suffix(close)?;
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            c => out.push(c),
        }
    }
    Some(out)
}

fn closing_quote(open: char) -> Option<char> {
    match open {
        '"' | '\'' | '`' => Some(open),
        '“' => Some('”'),
        '‘' => Some('’'),
        _ => None,
    }
}

fn is_opening(c: char) -> bool {
    matches!(c, '(' | '[' | '{' | '（')
}

fn is_closing(c: char) -> bool {
    matches!(c, ')' | ']' | '}' | '）')
}

/// Iterates over characters and tracks open brackets.
struct BracketScanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Closing quotes that are known to be missing from here on.
    missing: Vec<char>,
}

impl<'a> BracketScanner<'a> {
    fn new(text: &'a str) -> Self {
        BracketScanner {
            text,
            at: 0,
            depth: 0,
            missing: Vec::new(),
        }
    }

    /// Returns the next character outside of brackets and quotes.
    fn next_outside(&mut self) -> Option<(usize, char)> {
        loop {
            let inside = self.depth > 0;
            let (at, c) = self.step()?;
            if !inside && !is_opening(c) {
                return Some((at, c));
            }
        }
    }

    /// Returns the next character outside of quotes.
    fn step(&mut self) -> Option<(usize, char)> {
        loop {
            let rest = self.text.get(self.at..)?;
            let c = rest.chars().next()?;
            if let Some(length) = self.quoted(rest, c) {
                self.at += length;
                continue;
            }
            let at = self.at;
            self.at += c.len_utf8();
            if is_opening(c) {
                self.depth += 1;
            } else if is_closing(c) {
                self.depth = self.depth.saturating_sub(1);
            }
            return Some((at, c));
        }
    }

    /// Returns the length of the quoted text that starts here. An apostrophe in a word and an
    /// unclosed quote do not start one.
    fn quoted(&mut self, rest: &str, c: char) -> Option<usize> {
        let in_word = self.text[..self.at].ends_with(char::is_alphanumeric);
        let close = closing_quote(c).filter(|close| !in_word && !self.missing.contains(close))?;
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == close => return Some(at + c.len_utf8()),
                _ => {}
            }
        }
        self.missing.push(close);
        None
    }
}
