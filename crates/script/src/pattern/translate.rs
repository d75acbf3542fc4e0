//! Translates ECMAScript patterns to the syntax of the search engine.
//!
//! The languages share most of their syntax. These are the differences: classes such as `\d` are
//! ASCII in JavaScript and Unicode in Rust, `.` excludes four line terminators instead of one, and
//! a `[` in a class or an unmatched brace is an ordinary character.

/// A translated pattern and the numbers of its named groups.
#[derive(Debug)]
pub(super) struct TranslatedRegex {
    pub(super) text: String,
    pub(super) names: Vec<(String, usize)>,
}

const DIGIT: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";
const SPACE: &str =
    r"\x09-\x0d\x20\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";
/// `\b` for ASCII letters, because the Unicode version finds no word boundary next to Chinese text.
const BOUNDARY: &str = "(?:(?<=[A-Za-z0-9_])(?![A-Za-z0-9_])|(?<![A-Za-z0-9_])(?=[A-Za-z0-9_]))";
const NO_BOUNDARY: &str = "(?:(?<=[A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<![A-Za-z0-9_])(?![A-Za-z0-9_]))";

/// Translates a pattern. Errors that both languages share are left to the engine.
///
/// # Errors
/// An error in JavaScript only.
pub(super) fn translate(pattern: &str, flags: &str) -> Result<TranslatedRegex, &'static str> {
    let mut writer = RegexWriter {
        rest: pattern,
        out: String::with_capacity(pattern.len() * 2),
        names: group_names(pattern),
        dot: if flags.contains('s') {
            r"(?s:.)"
        } else {
            r"[^\n\r\x{2028}\x{2029}]"
        },
    };
    writer.all()?;
    let text = if flags.contains('y') {
        format!(r"\A(?:{})", writer.out)
    } else {
        writer.out
    };
    let names = writer.names;
    Ok(TranslatedRegex { text, names })
}

/// Returns the group names with their numbers, because a `\k<name>` may precede its group.
fn group_names(pattern: &str) -> Vec<(String, usize)> {
    let mut names = Vec::new();
    let mut count = 0;
    let mut in_class = false;
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                let after = &pattern[at + 1..];
                let name = group_name(after);
                count += usize::from(name.is_some() || !after.starts_with('?'));
                names.extend(name.map(|name| (name.to_owned(), count)));
            }
            _ => {}
        }
    }
    names
}

/// Returns the name in `?<name>`, but not for a lookbehind.
fn group_name(after: &str) -> Option<&str> {
    let named = after.strip_prefix("?<")?;
    let (name, _) = named.split_once('>')?;
    (!name.starts_with(['=', '!'])).then_some(name)
}

struct RegexWriter<'a> {
    rest: &'a str,
    out: String,
    names: Vec<(String, usize)>,
    dot: &'static str,
}

impl RegexWriter<'_> {
    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or("");
    }

    fn all(&mut self) -> Result<(), &'static str> {
        loop {
            if self.rest.starts_with('{') {
                self.brace()?;
                continue;
            }
            let Some(c) = self.take() else {
                return Ok(());
            };
            match c {
                '\\' => self.escape(false),
                '[' => self.class(),
                '.' => self.out.push_str(self.dot),
                '(' => self.group(),
                '}' | ']' => self.literal(c),
                '*' | '+' | '?' => {
                    self.out.push(c);
                    self.lazy()?;
                }
                c => self.out.push(c),
            }
        }
    }

    fn group(&mut self) {
        self.out.push('(');
        if let Some(name) = group_name(self.rest) {
            self.skip(name.len() + 3);
        }
    }

    /// After a quantifier, `?` makes it lazy. A `+` would make it possessive in the engine, which
    /// JavaScript does not support.
    fn lazy(&mut self) -> Result<(), &'static str> {
        if self.rest.starts_with('?') {
            self.skip(1);
            self.out.push('?');
        }
        if self.rest.starts_with(['+', '*', '?']) || self.count().is_some() {
            Err("nothing to repeat")
        } else {
            Ok(())
        }
    }

    /// Returns the text `{2,3}` including its braces, if it is next.
    fn count(&self) -> Option<&str> {
        let (inside, _) = self.rest.strip_prefix('{')?.split_once('}')?;
        is_count(inside).then(|| &self.rest[..inside.len() + 2])
    }

    /// Translates `{2}`, `{2,}` and `{2,3}` as repetitions. Any other brace is a literal.
    fn brace(&mut self) -> Result<(), &'static str> {
        let Some(count) = self.count().map(str::to_owned) else {
            self.skip(1);
            self.literal('{');
            return Ok(());
        };
        self.skip(count.len());
        self.out.push_str(&count);
        self.lazy()
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii_punctuation() {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    fn class(&mut self) {
        let negated = self.rest.starts_with('^');
        self.skip(usize::from(negated));
        if self.rest.starts_with(']') {
            self.skip(1);
            // `[^]` matches anything, `[]` matches nothing.
            self.out.push_str(if negated { "(?s:.)" } else { "(?!)" });
            return;
        }
        self.out.push_str(if negated { "[^" } else { "[" });
        while let Some(c) = self.take() {
            match c {
                ']' => {
                    self.out.push(']');
                    return;
                }
                '\\' => self.escape(true),
                '[' | '&' | '~' | '^' => self.literal(c),
                // In JavaScript, `--` in a class can be a range up to a hyphen; in the engine, it
                // is a set difference.
                '-' if self.out.ends_with('-') => self.literal(c),
                c => self.out.push(c),
            }
        }
    }

    fn escape(&mut self, in_class: bool) {
        let Some(c) = self.take() else {
            self.out.push('\\');
            return;
        };
        match c {
            'd' => self.set(DIGIT, false, in_class),
            'D' => self.set(DIGIT, true, in_class),
            'w' => self.set(WORD, false, in_class),
            'W' => self.set(WORD, true, in_class),
            's' => self.set(SPACE, false, in_class),
            'S' => self.set(SPACE, true, in_class),
            'b' if in_class => self.code(8),
            'b' => self.out.push_str(BOUNDARY),
            'B' if !in_class => self.out.push_str(NO_BOUNDARY),
            't' | 'n' | 'v' | 'f' | 'r' => self.out.extend(['\\', c]),
            'p' | 'P' if self.rest.starts_with('{') => self.property(c),
            'k' if !in_class && self.rest.starts_with('<') => self.named_reference(),
            '1'..='9' if !in_class => self.reference(c),
            '0' => self.code(0),
            'c' => self.control(),
            'x' => self.hex(2, c),
            'u' => self.unicode(),
            c => self.literal(c),
        }
    }

    fn set(&mut self, members: &str, negated: bool, in_class: bool) {
        let (open, close) = match (negated, in_class) {
            (false, true) => ("", ""),
            (false, false) => ("[", "]"),
            (true, _) => ("[^", "]"),
        };
        for part in [open, members, close] {
            self.out.push_str(part);
        }
    }

    /// Translates `\p{L}`, whose braces are not a repetition.
    fn property(&mut self, mark: char) {
        let end = self.rest.find('}').map_or(self.rest.len(), |at| at + 1);
        self.out.extend(['\\', mark]);
        self.out.push_str(&self.rest[..end]);
        self.skip(end);
    }

    fn code(&mut self, code: u32) {
        self.out.push_str(&format!(r"\x{{{code:x}}}"));
    }

    fn named_reference(&mut self) {
        let name = self.rest[1..].split('>').next().unwrap_or("");
        let known = self.names.iter().find(|(known, _)| known == name);
        let number = known.map(|(_, number)| *number);
        let length = name.len() + 2;
        match number {
            Some(number) => {
                self.back(&number.to_string());
                self.skip(length);
            }
            None => self.literal('k'),
        }
    }

    fn reference(&mut self, first: char) {
        let more = self.rest.find(|c: char| !c.is_ascii_digit());
        let more = more.unwrap_or(self.rest.len());
        let number = format!("{first}{}", &self.rest[..more]);
        self.back(&number);
        self.skip(more);
    }

    /// Translates a backreference. In JavaScript, a group that did not participate matches the
    /// empty text.
    fn back(&mut self, number: &str) {
        self.out.push_str(&format!(r"(?({number})\{number}|)"));
    }

    fn control(&mut self) {
        match self.rest.chars().next().filter(char::is_ascii_alphabetic) {
            Some(letter) => {
                self.skip(1);
                self.code(letter as u32 % 32);
            }
            // Without a control letter, `\c` is a literal backslash followed by `c`.
            None => self.out.push_str(r"\\c"),
        }
    }

    fn hex(&mut self, digits: usize, mark: char) {
        match self
            .rest
            .get(..digits)
            .map(|text| u32::from_str_radix(text, 16))
        {
            Some(Ok(code)) => {
                self.skip(digits);
                self.code(code);
            }
            _ => self.literal(mark),
        }
    }

    fn unicode(&mut self) {
        if let Some((digits, _)) = self.rest.strip_prefix('{').and_then(|r| r.split_once('}'))
            && let Ok(code) = u32::from_str_radix(digits, 16)
        {
            self.skip(digits.len() + 2);
            return self.code(code);
        }
        match surrogates(self.rest) {
            Some(code) => {
                self.skip(10);
                self.code(code);
            }
            None => self.hex(4, 'u'),
        }
    }
}

/// Returns the code point of a surrogate pair such as `D83D\uDE00`.
fn surrogates(text: &str) -> Option<u32> {
    let high = u32::from_str_radix(text.get(..4)?, 16).ok()?;
    let low = u32::from_str_radix(text.get(4..)?.strip_prefix(r"\u")?.get(..4)?, 16).ok()?;
    let paired = (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
    paired.then(|| 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
}

fn is_count(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (least, most) = text.split_once(',').unwrap_or((text, ""));
    !least.is_empty() && digits(least) && digits(most)
}
