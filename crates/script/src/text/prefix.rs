//! Marks at the start of a string.
//!
//! A string without a valid mark is plain text.

/// Returns the name of the call, without `$`, if the string consists only of `$name(…)`.
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

/// The position of a string in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPosition {
    /// A complete message, in which `:` and `+` need no `#`.
    Message,
    /// An argument, or the result of a directive.
    Argument,
}

/// When a string is rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormatTime {
    /// As set by `formatStringStrategy`.
    #[default]
    Default,
    /// `~`: never.
    Raw,
    /// `!`: immediately.
    Immediate,
    /// `?=`: evaluated as an expression.
    Expression,
}

/// How a message is placed in the dialogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessagePlacement<'t> {
    /// After all others.
    #[default]
    Push,
    /// `#:[index:role]`: replaces another message.
    Replace {
        /// Index from 0, or from the end if negative. Default: the last message.
        index: Option<i64>,
        /// New role. Default: the role of the replaced message.
        role: Option<&'t str>,
    },
    /// `#+[index:role]`: inserted before another message.
    Insert {
        /// Index from 0, or from the end if negative. Default: after all messages.
        index: Option<i64>,
        /// Role. Default: `user`.
        role: Option<&'t str>,
    },
}

/// A string without its marks, and the meaning of the marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixedText<'t> {
    /// How the message is placed in the dialogue.
    pub place: MessagePlacement<'t>,
    /// When the text is rendered.
    pub form: FormatTime,
    /// The text after the marks.
    pub text: &'t str,
    /// Length of the marks in bytes.
    pub start: usize,
    /// Replacement for a mark that was removed from the language in version 0.9.0.
    pub deprecated: Option<&'static str>,
}

/// Parses the marks of a string.
#[must_use]
pub fn read(text: &str, position: TextPosition) -> PrefixedText<'_> {
    let read = placed(text, position).or_else(|| formatted(text));
    read.unwrap_or_else(|| plain(text))
}

/// Parses the mark at the start of an expression's result. A leading `#` or `!` requests immediate
/// rendering.
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

/// Parses `~`, `!`, `?=`, and the deprecated `#`.
fn formatted(text: &str) -> Option<PrefixedText<'_>> {
    let marks = [
        ("~", FormatTime::Raw),
        ("!", FormatTime::Immediate),
        ("?=", FormatTime::Expression),
    ];
    for (mark, form) in marks {
        // A mark without text after it, as in `mark='!'`, is ordinary text.
        if let Some(rest) = text.strip_prefix(mark).filter(|rest| !rest.is_empty()) {
            return Some(without(text, rest, form));
        }
    }
    let rest = text.strip_prefix('#')?;
    // `# Title` is Markdown and `#1` a number, so `#` is a mark only before text with holes or
    // templates.
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

/// Parses `#:` and `#+`, and for messages also `:`, `+`, and the deprecated `!:`, `!+`.
fn placed(text: &str, position: TextPosition) -> Option<PrefixedText<'_>> {
    let (mark, rest) = match text.strip_prefix('#') {
        Some(rest) => ("#", rest),
        // In arguments only `#` starts a placement, because `:smile:` or `+1` is text.
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

/// Parses `[index:role]`, in which all parts are optional. Returns `None` if it is malformed.
fn brackets(text: &str) -> Option<BracketParts<'_>> {
    let Some(inside) = text.strip_prefix('[') else {
        return Some((None, None, text));
    };
    if inside.starts_with('[') {
        // A second bracket opens a hole at the start of the message.
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
