//! Converts Go's regular expressions to the syntax of the `regex` crate.
//!
//! Both syntaxes have RE2 semantics: no backtracking and linear time. The converter rewrites the
//! differences. In Go, `\d`, `\w`, `\s` and `\b` are ASCII only, `[` and `&&` are literal in a
//! class, and a `{` that does not begin a repetition is literal.

use std::iter::Peekable;
use std::str::CharIndices;

/// Go's maximum repetition count.
const MAX_REPEAT: u32 = 1000;

/// Converts a pattern.
///
/// # Errors
/// Returns the message of Go's `regexp/syntax` for a rejected pattern.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut rewriter = Rewriter {
        pattern,
        chars: pattern.char_indices().peekable(),
        out: String::with_capacity(pattern.len() + 16),
        groups: Vec::new(),
        names: Vec::new(),
        last: RepeatTarget::Nothing,
    };
    let outcome = rewriter.run();
    outcome.map_err(|reason| format!("error parsing regexp: {reason}"))?;
    Ok(rewriter.out)
}

/// Operand of a following repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RepeatTarget {
    Nothing,
    Atom,
    /// A repetition that starts at this offset.
    Repeat(usize),
}

struct Rewriter<'a> {
    pattern: &'a str,
    chars: Peekable<CharIndices<'a>>,
    out: String,
    groups: Vec<usize>,
    names: Vec<&'a str>,
    last: RepeatTarget,
}

impl<'a> Rewriter<'a> {
    fn run(&mut self) -> Result<(), String> {
        while let Some((at, c)) = self.chars.next() {
            self.one(at, c)?;
        }
        match self.groups.first() {
            Some(_) => Err(format!("missing closing ): `{}`", self.pattern)),
            None => Ok(()),
        }
    }

    fn one(&mut self, at: usize, c: char) -> Result<(), String> {
        match c {
            '(' => self.open(at)?,
            ')' => {
                if self.groups.pop().is_none() {
                    return Err(format!("unexpected ): `{}`", self.pattern));
                }
                self.atom(")");
            }
            '|' => {
                self.out.push('|');
                self.last = RepeatTarget::Nothing;
            }
            '*' | '+' | '?' => self.repeat(at, 1)?,
            '{' => match bounds(self.rest(at)) {
                Some((length, least, most)) => {
                    let text = &self.pattern[at..at + length];
                    if least > MAX_REPEAT || most.is_some_and(|m| m > MAX_REPEAT || m < least) {
                        return Err(format!("invalid repeat count: `{text}`"));
                    }
                    self.skip(length - 1);
                    self.repeat(at, length)?;
                }
                None => self.atom("\\{"),
            },
            '}' => self.atom("\\}"),
            ']' => self.atom("\\]"),
            '[' => self.class(at)?,
            '\\' => self.escape(at)?,
            '^' | '$' | '.' => self.atom(c.encode_utf8(&mut [0; 4])),
            c => {
                // Go's patterns have no comments, so every other character is literal.
                self.out.push(c);
                self.last = RepeatTarget::Atom;
            }
        }
        Ok(())
    }

    fn rest(&self, at: usize) -> &'a str {
        &self.pattern[at..]
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.chars.next();
        }
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = RepeatTarget::Atom;
    }

    fn repeat(&mut self, at: usize, length: usize) -> Result<(), String> {
        let lazy = self.rest(at + length).starts_with('?');
        let text = &self.pattern[at..at + length + usize::from(lazy)];
        match self.last {
            RepeatTarget::Nothing => {
                return Err(format!("missing argument to repetition operator: `{text}`"));
            }
            RepeatTarget::Repeat(from) => {
                let nested = &self.pattern[from..at + text.len()];
                return Err(format!("invalid nested repetition operator: `{nested}`"));
            }
            RepeatTarget::Atom => {}
        }
        self.out.push_str(text);
        self.skip(usize::from(lazy));
        self.last = RepeatTarget::Repeat(at);
        Ok(())
    }

    /// Reads a group: plain, with flags, or named.
    fn open(&mut self, at: usize) -> Result<(), String> {
        self.last = RepeatTarget::Nothing;
        let Some(after) = self.rest(at).strip_prefix("(?") else {
            self.groups.push(at);
            self.out.push('(');
            return Ok(());
        };
        if let Some(name) = after.strip_prefix("P<").or(after.strip_prefix('<')) {
            return self.open_named(at, name);
        }
        let wrong = |text: &str| format!("invalid or unsupported Perl syntax: `{text}`");
        let flags = after.find(|c| !"imsU-".contains(c)).unwrap_or(after.len());
        match after[flags..].chars().next() {
            Some(':') => self.groups.push(at),
            Some(')') => {}
            Some(c) => return Err(wrong(&self.rest(at)[..2 + flags + c.len_utf8()])),
            None => return Err(wrong(self.rest(at))),
        }
        let length = 2 + flags + 1;
        self.out.push_str(&self.pattern[at..at + length]);
        self.skip(length - 1);
        Ok(())
    }

    /// Reads a named group, which starts at `rest`. If the crate rejects the name (a leading digit,
    /// a duplicate), the group gets no name.
    fn open_named(&mut self, at: usize, rest: &'a str) -> Result<(), String> {
        let whole = self.rest(at);
        let Some((name, after)) = rest.split_once('>') else {
            return Err(format!("invalid named capture: `{whole}`"));
        };
        let head = &whole[..whole.len() - after.len()];
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(word) {
            return Err(format!("invalid named capture: `{head}`"));
        }
        let digit = name.starts_with(|c: char| c.is_ascii_digit());
        if digit || self.names.contains(&name) {
            self.out.push('(')
        } else {
            self.out.push_str(head)
        }
        self.names.push(name);
        self.groups.push(at);
        self.skip(head.len() - 1);
        Ok(())
    }

    fn escape(&mut self, at: usize) -> Result<(), String> {
        if self.rest(at).starts_with("\\Q") {
            self.quoted(at);
            return Ok(());
        }
        let text = self.escaped(at)?;
        match ascii_class(text) {
            Some((negated, set)) => {
                let caret = if negated { "^" } else { "" };
                self.atom(&format!("[{caret}{set}]"));
            }
            None if matches!(text, "\\b" | "\\B") => self.atom(&format!("(?-u:{text})")),
            None => self.literal(text),
        }
        Ok(())
    }

    /// Writes an escape that both syntaxes share, or a character that the crate accepts unescaped.
    fn literal(&mut self, text: &str) {
        match text {
            // The crate treats these escapes as word boundaries.
            "\\<" | "\\>" => self.atom(&text[1..]),
            text => self.atom(text),
        }
    }

    /// Reads `\Q...\E`, between which all text is literal.
    fn quoted(&mut self, at: usize) {
        let body = &self.rest(at)[2..];
        let (body, consumed) = match body.find("\\E") {
            Some(end) => (&body[..end], end + 2),
            None => (body, body.len()),
        };
        self.out.push_str(&regex::escape(body));
        if !body.is_empty() {
            self.last = RepeatTarget::Atom;
        }
        let rest = &self.rest(at)[1..2 + consumed];
        self.skip(rest.chars().count());
    }

    /// Consumes an escape and returns its text.
    fn escaped(&mut self, at: usize) -> Result<&'a str, String> {
        let Some((_, c)) = self.chars.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let length = match c {
            'p' | 'P' => self.property(at)?,
            'x' => self.hexadecimal(at)?,
            '0'..='7' => return Err(self.invalid_escape(at, 2)),
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => 2,
            'A' | 'z' | 'b' | 'B' | 'd' | 'D' | 's' | 'S' | 'w' | 'W' => 2,
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => 2,
            c => return Err(self.invalid_escape(at, 1 + c.len_utf8())),
        };
        Ok(&self.pattern[at..at + length])
    }

    fn invalid_escape(&self, at: usize, length: usize) -> String {
        let text = self.rest(at).get(..length).unwrap_or_default();
        format!("invalid escape sequence: `{text}`")
    }

    /// Returns the length of `\pL` or `\p{Greek}`.
    fn property(&mut self, at: usize) -> Result<usize, String> {
        let body = &self.rest(at)[2..];
        let length = match body.chars().next() {
            Some('{') => body.find('}').map(|end| end + 1),
            Some(c) => Some(c.len_utf8()),
            None => None,
        };
        let Some(length) = length else {
            let text = self.rest(at);
            return Err(format!("invalid character class range: `{text}`"));
        };
        self.skip(body[..length].chars().count());
        let text = &self.rest(at)[..2 + length];
        match regex::Regex::new(text) {
            Ok(_) => Ok(2 + length),
            Err(_) => Err(format!("invalid character class range: `{text}`")),
        }
    }

    /// Returns the length of `\x41` or `\x{10FFFF}`.
    fn hexadecimal(&mut self, at: usize) -> Result<usize, String> {
        let body = &self.rest(at)[2..];
        let length = match body.strip_prefix('{') {
            Some(inner) => inner.find('}').map(|end| end + 2),
            None => (body.len() >= 2).then_some(2),
        };
        let digits = length.and_then(|length| body.get(..length));
        let valid = digits.is_some_and(|digits| {
            let digits = digits.trim_matches(['{', '}']);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        match length {
            Some(length) if valid => {
                self.skip(length);
                Ok(2 + length)
            }
            _ => Err(self.invalid_escape(at, (2 + body.len()).min(4))),
        }
    }

    fn class(&mut self, at: usize) -> Result<(), String> {
        self.out.push('[');
        if self.chars.next_if(|(_, c)| *c == '^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some((here, c)) = self.chars.next() else {
                return Err(format!("missing closing ]: `{}`", self.rest(at)));
            };
            if c == ']' && !first {
                break;
            }
            first = false;
            self.class_item(here, c)?;
        }
        self.atom("]");
        Ok(())
    }

    /// Reads a character, a range, or a named set in a class.
    fn class_item(&mut self, at: usize, c: char) -> Result<(), String> {
        if c == '[' && self.rest(at).starts_with("[:") {
            let Some(end) = self.rest(at).find(":]") else {
                self.out.push_str("\\[");
                return Ok(());
            };
            let name = &self.rest(at)[..end + 2];
            if !is_named_set(name) {
                return Err(format!("invalid character class range: `{name}`"));
            }
            self.out.push_str(name);
            self.skip(name.chars().count() - 1);
            return Ok(());
        }
        let Some(low) = self.class_character(at, c)? else {
            return Ok(());
        };
        // A dash before the closing bracket is literal.
        let dash =
            |(here, c): &(usize, char)| *c == '-' && !self.pattern[here + 1..].starts_with(']');
        if self.chars.next_if(dash).is_none() {
            return Ok(());
        }
        let Some((here, c)) = self.chars.next() else {
            return Ok(());
        };
        self.out.push('-');
        let high = self.class_character(here, c)?;
        if high.is_none_or(|high| high < low) {
            let end = self.chars.peek().map_or(self.pattern.len(), |next| next.0);
            let range = &self.pattern[at..end];
            return Err(format!("invalid character class range: `{range}`"));
        }
        Ok(())
    }

    /// Writes one character of a class. Returns `None` for a set such as `\d`.
    fn class_character(&mut self, at: usize, c: char) -> Result<Option<char>, String> {
        if c != '\\' {
            // The crate's class operators are literal characters in Go.
            if "[]&~-^".contains(c) {
                self.out.push('\\');
            }
            self.out.push(c);
            return Ok(Some(c));
        }
        let text = self.escaped(at)?;
        if let Some((negated, set)) = ascii_class(text) {
            let caret = if negated { "^" } else { "" };
            self.out.push_str(&format!("[{caret}{set}]"));
            return Ok(None);
        }
        if matches!(text, "\\A" | "\\z" | "\\b" | "\\B") {
            return Err(self.invalid_escape(at, 2));
        }
        self.out.push_str(text);
        if text.starts_with("\\p") || text.starts_with("\\P") {
            return Ok(None);
        }
        Ok(Some(unescaped(text)))
    }
}

/// Returns the character that an escape denotes.
fn unescaped(text: &str) -> char {
    let digits = text.trim_start_matches("\\x").trim_matches(['{', '}']);
    match text.chars().nth(1) {
        Some('x') => u32::from_str_radix(digits, 16)
            .ok()
            .and_then(char::from_u32)
            .unwrap_or_default(),
        Some('a') => '\u{7}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('v') => '\u{b}',
        Some(c) => c,
        None => '\\',
    }
}

/// Parses `\d`, `\s` or `\w`. Returns whether the class is negated, and its characters.
fn ascii_class(text: &str) -> Option<(bool, &'static str)> {
    Some(match text {
        "\\d" => (false, "0-9"),
        "\\D" => (true, "0-9"),
        "\\s" => (false, "\\t\\n\\f\\r "),
        "\\S" => (true, "\\t\\n\\f\\r "),
        "\\w" => (false, "0-9A-Za-z_"),
        "\\W" => (true, "0-9A-Za-z_"),
        _ => return None,
    })
}

fn is_named_set(name: &str) -> bool {
    let name = name.trim_start_matches("[:").trim_end_matches(":]");
    let name = name.strip_prefix('^').unwrap_or(name);
    matches!(
        name,
        "alnum"
            | "alpha"
            | "ascii"
            | "blank"
            | "cntrl"
            | "digit"
            | "graph"
            | "lower"
            | "print"
            | "punct"
            | "space"
            | "upper"
            | "word"
            | "xdigit"
    )
}

/// Parses `{2}`, `{2,}` or `{2,5}`. Returns the length, the minimum and the maximum.
fn bounds(text: &str) -> Option<(usize, u32, Option<u32>)> {
    let body = &text[1..text.find('}')?];
    let (least, most) = match body.split_once(',') {
        None => (body, Some(body)),
        Some((least, "")) => (least, None),
        Some((least, most)) => (least, Some(most)),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(least) || !most.is_none_or(digits) {
        return None;
    }
    let number = |text: &str| text.parse().unwrap_or(u32::MAX);
    Some((body.len() + 2, number(least), most.map(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_writes_differently_is_rewritten() {
        let cases = [
            (r"\d+", r"[0-9]+"),
            (r"[\d\W]", r"[[0-9][^0-9A-Za-z_]]"),
            (r"\bx\b", r"(?-u:\b)x(?-u:\b)"),
            (r"a{,3}", r"a\{,3\}"),
            (r"a{2,3}?", r"a{2,3}?"),
            (r"[a&&b[~]", r"[a\&\&b\[\~]"),
            (r"[]a]", r"[\]a]"),
            (r"[^]a-z-]", r"[^\]a-z\-]"),
            (r"\Qa.b\E+", r"a\.b+"),
            (r"\<x\>", r"<x>"),
            (r"(?P<n>x)(?i:y)(?s)z", r"(?P<n>x)(?i:y)(?s)z"),
            (r"[[:alpha:]_]\p{Greek}\pL", r"[[:alpha:]_]\p{Greek}\pL"),
            (r"\x41\x{1F600}", r"\x41\x{1F600}"),
            ("世+", "世+"),
        ];
        for (pattern, wanted) in cases {
            let translated = translate(pattern).unwrap();
            assert_eq!(translated, wanted, "{pattern}");
            regex::bytes::Regex::new(&translated).unwrap();
        }
    }

    #[test]
    fn patterns_that_are_none_are_refused_in_the_words_of_go() {
        let cases = [
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("\\y", "invalid escape sequence: `\\y`"),
            ("\\1", "invalid escape sequence: `\\1`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?<=a)", "invalid named capture: `(?<=a)`"),
        ];
        for (pattern, wanted) in cases {
            let error = translate(pattern).unwrap_err();
            assert_eq!(error, format!("error parsing regexp: {wanted}"));
        }
    }
}
