//! The secret of this process, and how marks are made of it.
//!
//! A mark is a noncharacter, the secret, and one character that says what it
//! marks. Whoever has only the output and the data cannot know the secret.

use std::borrow::Cow;
use std::sync::OnceLock;

use memchr::memmem;
use quillet_core::{Map, Value, ValueList};

use crate::host;

/// Unicode keeps it for internal use; no text of people has it.
const LEAD: char = '\u{FDD0}';

static SECRET: OnceLock<String> = OnceLock::new();

/// What every mark begins with. 128 random bits, made at the first use.
pub(super) fn secret() -> &'static str {
    SECRET.get_or_init(|| {
        let [first, second] = host::random();
        format!("{LEAD}{first:016x}{second:016x}")
    })
}

/// The secret, if anything has been marked in this process.
pub(super) fn existing() -> Option<&'static str> {
    SECRET.get().map(String::as_str)
}

/// Whether a text has any mark.
pub(crate) fn has_marks(text: &[u8]) -> bool {
    existing().is_some_and(|secret| memmem::find(text, secret.as_bytes()).is_some())
}

/// The text without marks. A directive goes whole; what a mark made structural
/// stays as the character it is.
pub(crate) fn strip(text: Vec<u8>) -> Vec<u8> {
    let Some(secret) = existing() else {
        return text;
    };
    let finder = memmem::Finder::new(secret);
    if finder.find(&text).is_none() {
        return text;
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_slice();
    while let Some(at) = finder.find(rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + secret.len()..];
        if rest.first() == Some(&b'(') {
            rest = after_directive(rest, &finder, secret.len());
        }
    }
    out.extend_from_slice(rest);
    out
}

/// What follows a directive that begins here.
fn after_directive<'a>(text: &'a [u8], secret: &memmem::Finder<'_>, length: usize) -> &'a [u8] {
    match secret.find(text) {
        Some(end) => text.get(end + length + 1..).unwrap_or_default(),
        None => &[],
    }
}

/// A value whose strings have no marks, keys included.
pub(crate) fn strip_value(value: Value) -> Value {
    let Some(secret) = existing() else {
        return value;
    };
    clean(&value, secret)
}

/// A text that has marks, without them; `None` if it has none.
pub(crate) fn unmarked(text: &str) -> Option<String> {
    match clean_text(text, existing()?) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

fn clean(value: &Value, secret: &str) -> Value {
    match value.meant() {
        Value::Str(text) => match clean_text(text, secret) {
            Cow::Borrowed(_) => value.clone(),
            Cow::Owned(text) => text.into(),
        },
        Value::List(list) => Value::List(ValueList::new(
            list.iter().map(|item| clean(item, secret)).collect(),
        )),
        Value::Map(map) => Value::Map(Map::new(
            map.iter()
                .map(|(key, value)| (clean_text(key, secret).into(), clean(value, secret)))
                .collect(),
        )),
        other => other.clone(),
    }
}

/// A text without marks.
pub(super) fn clean_text<'a>(text: &'a str, secret: &str) -> Cow<'a, str> {
    if !text.contains(secret) {
        return Cow::Borrowed(text);
    }
    let bytes = strip(text.as_bytes().to_vec());
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}
