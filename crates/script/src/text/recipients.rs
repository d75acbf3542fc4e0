//! Recipients of a message.

use std::ops::Range;

/// The name that addresses all roles.
pub const ALL: &str = "all";

/// A recipient of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The role's name; [`ALL`] for all roles.
    pub name: String,
    /// Whether the recipient is marked with `PM`, `DM` or `私`. A single private recipient makes the
    /// whole message private.
    pub private: bool,
}

/// An error in a bracketed list of recipients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRecipient {
    /// Byte range of the invalid entry in the list.
    pub range: Range<usize>,
    /// The problem, and how to fix the list.
    pub message: String,
}

/// Parses the recipients at the start of a message. Returns the recipients and the text that
/// follows.
///
/// The form is `@a, @b(PM) text`. Text in any other form has no recipients. This includes text with
/// an address such as `@a.example`, or with an unknown mark. The caller must check that the names
/// are roles.
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
            // In `@a @b text` there is no comma, so the second name is part of the text.
            None => break,
        };
    }
    (found, rest)
}

/// Parses the text in the brackets of `user[@dobby(私), @other]`. The `@` is optional.
///
/// # Errors
/// The first entry that is not a name, with its range in `text`.
pub fn bracketed(text: &str) -> Result<Vec<Recipient>, NoRecipient> {
    let mut at = 0;
    let mut found = Vec::new();
    for entry in text.split([',', '，']) {
        let range = at..at + entry.len();
        // Either comma is a single character, but the full-width one has three bytes.
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

/// Parses `@name` or `@name(PM)`. Returns the text after it.
fn one(text: &str) -> Option<(Recipient, &str)> {
    let (recipient, rest) = named(text.strip_prefix('@')?)?;
    let mut chars = rest.chars();
    let ends = match chars.next() {
        None => true,
        Some(',' | '，' | '、' | ':' | '：' | '。' | '！' | '？') => true,
        // In `@a.` the dot ends a sentence, but `@a.example` is an address.
        Some('.' | '!' | '?' | ';') => !chars.next().is_some_and(char::is_alphanumeric),
        // The parenthesis in `@a(PM)` ends the name, so text may follow without a space.
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
