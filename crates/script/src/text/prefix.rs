//! Marks at the beginning of a string.
//!
//! What has no mark, or one that is not well formed, is plain text.

/// The name in a text that is nothing but `$name(…)`, without its sign.
///
/// ```
/// use quillet_script::text::prefix::looks_like_call;
///
/// assert_eq!(looks_like_call("$echo(1)"), Some("echo"));
/// assert_eq!(looks_like_call("$5 (or less)"), None);
/// ```
#[must_use]
pub fn looks_like_call(text: &str) -> Option<&str> {
    let (name, rest) = text.trim().strip_prefix('$')?.split_once('(')?;
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    (is_name && rest.ends_with(')')).then_some(name)
}

/// Where a string stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPosition {
    /// It is a message by itself: `:` and `+` need no `#`.
    Message,
    /// It is an argument, or what a directive gave.
    Argument,
}

/// When a text is formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormatTime {
    /// As `formatStringStrategy` says.
    #[default]
    Default,
    /// `~`: never.
    Raw,
    /// `!`: immediately.
    Immediate,
    /// `?=`: it is an expression.
    Expression,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessagePlacement<'t> {
    /// Behind the others.
    #[default]
    Push,
    /// `#:[index:role]`: in the place of another.
    Replace {
        /// From 0, or from the end where negative; the last where it is omitted.
        index: Option<i64>,
        /// Its new role; the old one where it is omitted.
        role: Option<&'t str>,
    },
    /// `#+[index:role]`: before another.
    Insert {
        /// From 0, or from the end where negative; behind all where it is omitted.
        index: Option<i64>,
        /// Its role; `user` where it is omitted.
        role: Option<&'t str>,
    },
}

/// A string without its marks, and what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixedText<'t> {
    /// Where it goes.
    pub place: MessagePlacement<'t>,
    /// When it is formatted.
    pub form: FormatTime,
    /// The rest.
    pub text: &'t str,
    /// Bytes of the marks before it.
    pub start: usize,
    /// What to write instead of a mark that the language gave up in its version 0.9.0.
    pub deprecated: Option<&'static str>,
}

/// Reads the marks of a string.
#[must_use]
pub fn read(text: &str, position: TextPosition) -> PrefixedText<'_> {
    let read = placed(text, position).or_else(|| formatted(text));
    read.unwrap_or_else(|| plain(text))
}

/// What an expression gave: `#` (and `!`) at its beginning says to format it immediately.
#[must_use]
pub fn expression_result(text: &str) -> (FormatTime, &str) {
    match text.strip_prefix(['#', '!']) {
        Some(rest) => (FormatTime::Immediate, rest),
        None => (FormatTime::Default, text),
    }
}

fn plain(text: &str) -> PrefixedText<'_> {
    PrefixedText {
        place: MessagePlacement::Push,
        form: FormatTime::Default,
        text,
        start: 0,
        deprecated: None,
    }
}

/// `~`, `!`, `?=`, and the old `#`.
fn formatted(text: &str) -> Option<PrefixedText<'_>> {
    let marks = [
        ("~", FormatTime::Raw),
        ("!", FormatTime::Immediate),
        ("?=", FormatTime::Expression),
    ];
    for (mark, form) in marks {
        // A mark with nothing behind it is a text: `mark='!'`.
        if let Some(rest) = text.strip_prefix(mark).filter(|rest| !rest.is_empty()) {
            return Some(without(text, rest, form));
        }
    }
    let rest = text.strip_prefix('#')?;
    // `# Title` is Markdown and `#1` a number: only what has something to format was meant.
    if !rest.contains("{{") && !rest.contains("[[") {
        return None;
    }
    Some(PrefixedText {
        deprecated: Some("`!` instead of `#`"),
        ..without(text, rest, FormatTime::Immediate)
    })
}

fn without<'t>(text: &'t str, rest: &'t str, form: FormatTime) -> PrefixedText<'t> {
    PrefixedText {
        form,
        start: text.len() - rest.len(),
        ..plain(rest)
    }
}

/// `#:`, `#+`; as a message `:`, `+`, and the old `!:`, `!+`.
fn placed(text: &str, position: TextPosition) -> Option<PrefixedText<'_>> {
    let (mark, rest) = match text.strip_prefix('#') {
        Some(rest) => ("#", rest),
        // An argument such as `:smile:` or `+1` is text; only `#` makes a placement there.
        None if position == TextPosition::Argument => return None,
        None => match text.strip_prefix('!') {
            Some(rest) => ("!", rest),
            None => ("", text),
        },
    };
    let replaces = rest.starts_with(':');
    let rest = rest.strip_prefix([':', '+'])?;
    let (index, role, rest) = brackets(rest)?;
    let (form, rest) = match rest.strip_prefix('!') {
        Some(rest) => (FormatTime::Immediate, rest),
        None => match rest.strip_prefix('~') {
            Some(rest) => (FormatTime::Raw, rest),
            None => (FormatTime::Default, rest),
        },
    };
    Some(PrefixedText {
        place: if replaces {
            MessagePlacement::Replace { index, role }
        } else {
            MessagePlacement::Insert { index, role }
        },
        deprecated: (mark == "!").then_some("`#:` and `#+` instead of `!:` and `!+`"),
        ..without(text, rest, form)
    })
}

type BracketParts<'t> = (Option<i64>, Option<&'t str>, &'t str);

/// `[index:role]` with parts omitted, or nothing. `None` where they are not well formed.
fn brackets(text: &str) -> Option<BracketParts<'_>> {
    let Some(inside) = text.strip_prefix('[') else {
        return Some((None, None, text));
    };
    if inside.starts_with('[') {
        // The message begins with a hole.
        return Some((None, None, text));
    }
    let (inside, rest) = inside.split_once(']')?;
    let inside = inside.trim();
    if let Some((index, role)) = inside.split_once([':', '：']) {
        return Some((
            optional_index(index.trim())?,
            optional_role(role.trim())?,
            rest,
        ));
    }
    match inside.parse() {
        Ok(index) => Some((Some(index), None, rest)),
        Err(_) if inside.is_empty() => None,
        Err(_) => Some((None, optional_role(inside)?, rest)),
    }
}

fn optional_index(text: &str) -> Option<Option<i64>> {
    if text.is_empty() {
        Some(None)
    } else {
        text.parse().ok().map(Some)
    }
}

fn optional_role(text: &str) -> Option<Option<&str>> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if text.is_empty() {
        Some(None)
    } else {
        (text.starts_with(char::is_alphabetic) && text.chars().all(fits)).then_some(Some(text))
    }
}
