//! Whom a message is for.

use std::ops::Range;

/// The name that means every role.
pub const ALL: &str = "all";

/// One whom a message is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The role's name; [`ALL`] for every one.
    pub name: String,
    /// Whether it has `PM`, `DM` or `私`: one such makes the whole message private.
    pub private: bool,
}

/// A list in brackets that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRecipient {
    /// Its bytes in the list.
    pub range: Range<usize>,
    /// What is wrong and how to fix it.
    pub message: String,
}

/// The recipients that a message's text begins with, and the rest of it.
///
/// `@a, @b(PM) text`. Nobody where the text does not begin so; an address as `@a.example` or a mark
/// that is not known is text. Whether they are roles of the chat is for the caller to check.
///
/// ```
/// use quillet_script::text::recipients::leading;
///
/// let (recipients, text) = leading("@ada, @bob(PM) hello");
/// assert_eq!(recipients[0].name, "ada");
/// assert!(recipients[1].private);
/// assert_eq!(text, "hello");
/// ```
#[must_use]
pub fn leading(text: &str) -> (Vec<Recipient>, &str) {
    let mut found = Vec::new();
    let mut rest = text;
    let mut next = text.trim_start();
    while let Some((recipient, after)) = one(next) {
        found.push(recipient);
        let blank = after.trim_start();
        let comma = blank.strip_prefix([',', '，']);
        rest = comma.unwrap_or(blank).trim_start();
        next = match comma {
            Some(after) => after.trim_start(),
            // `@a @b text`: without a comma the second is a part of the text.
            None => break,
        };
    }
    (found, rest)
}

/// The recipients in the brackets of `user[@dobby(私), @other]`, without the brackets. The `@` may
/// be omitted.
///
/// # Errors
/// The first entry that is no name, with its place in `text`.
pub fn bracketed(text: &str) -> Result<Vec<Recipient>, NoRecipient> {
    let mut at = 0;
    let mut found = Vec::new();
    for entry in text.split([',', '，']) {
        let range = at..at + entry.len();
        // Both commas are one character; the wide one has three bytes.
        let comma = text.get(range.end..).and_then(|rest| rest.chars().next());
        at = range.end + comma.map_or(0, char::len_utf8);
        found.push(entry_of(entry.trim()).ok_or_else(|| NoRecipient {
            range,
            message: format!(
                "invalid recipient {:?}: write @name or @name(PM)",
                entry.trim()
            ),
        })?);
    }
    Ok(found)
}

fn entry_of(entry: &str) -> Option<Recipient> {
    let (recipient, rest) = named(entry.strip_prefix('@').unwrap_or(entry))?;
    rest.is_empty().then_some(recipient)
}

/// `@name` or `@name(PM)`, and what follows it.
fn one(text: &str) -> Option<(Recipient, &str)> {
    let (recipient, rest) = named(text.strip_prefix('@')?)?;
    let mut chars = rest.chars();
    let ends = match chars.next() {
        None => true,
        Some(',' | '，' | '、' | ':' | '：' | '。' | '！' | '？') => true,
        // `@a.` ends a sentence, `@a.example` is an address.
        Some('.' | '!' | '?' | ';') => !chars.next().is_some_and(char::is_alphanumeric),
        // The parenthesis of `@a(PM)` ends the name, so text may follow without a blank.
        Some(c) => c.is_whitespace() || recipient.private,
    };
    ends.then_some((recipient, rest))
}

fn named(text: &str) -> Option<(Recipient, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    if name.is_empty() {
        return None;
    }
    let (private, rest) = match rest.strip_prefix(['(', '（']) {
        None => (false, rest),
        Some(inside) => {
            let (mark, rest) = inside.split_once([')', '）'])?;
            (is_private(mark.trim()).then_some(true)?, rest)
        }
    };
    let name = name.to_owned();
    Some((Recipient { name, private }, rest))
}

fn is_private(mark: &str) -> bool {
    mark == "私" || mark.eq_ignore_ascii_case("PM") || mark.eq_ignore_ascii_case("DM")
}
