//! The secret of the process, and the marks that contain it.
//!
//! A mark consists of a noncharacter, the secret, and one character that identifies the structure.
//! The secret cannot be derived from outputs and data.

use std::borrow::Cow;
use std::sync::OnceLock;

use memchr::memmem;
use quillet_core::{Map, Value, ValueList};

use crate::host;

/// A noncharacter that Unicode reserves for internal use.
const LEAD: char = '\u{FDD0}';

static SECRET: OnceLock<String> = OnceLock::new();

/// Returns the common prefix of all marks. It contains 128 random bits, which are generated at the
/// first use.
pub(super) fn secret() -> &'static str {
    SECRET.get_or_init(|| {
        let [first, second] = host::random();
        format!("{LEAD}{first:016x}{second:016x}")
    })
}

/// Returns the secret, unless nothing was marked in this process.
pub(super) fn existing() -> Option<&'static str> {
    SECRET.get().map(String::as_str)
}

/// Whether a text contains a mark.
pub(crate) fn has_marks(text: &[u8]) -> bool {
    existing().is_some_and(|secret| memmem::find(text, secret.as_bytes()).is_some())
}

/// Removes the marks of a text. Directives are removed completely, and marked characters remain.
pub(crate) fn strip(text: Vec<u8>) -> Vec<u8> {
    // Without a secret there are no marks, so most processes never search for them.
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
        // A `(` begins a directive. Other marked characters remain as text.
        if rest.first() == Some(&b'(') {
            rest = after_directive(rest, &finder, secret.len());
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Returns the text after a directive.
fn after_directive<'a>(text: &'a [u8], secret: &memmem::Finder<'_>, length: usize) -> &'a [u8] {
    match secret.find(text) {
        // The end mark is followed by one character, the closing `)`.
        Some(end) => text.get(end + length + 1..).unwrap_or_default(),
        // A directive without an end mark was cut off, so the rest of the text belongs to it.
        None => &[],
    }
}

/// Removes the marks from all strings of a value, including the keys.
pub(crate) fn strip_value(value: Value) -> Value {
    let Some(secret) = existing() else {
        return value;
    };
    clean(&value, secret)
}

/// Returns the text without marks, or `None` if it has none.
pub(crate) fn unmarked(text: &str) -> Option<String> {
    match clean_text(text, existing()?) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

fn clean(value: &Value, secret: &str) -> Value {
    match value.represented_value() {
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

/// Removes the marks of a text.
pub(super) fn clean_text<'a>(text: &'a str, secret: &str) -> Cow<'a, str> {
    if !text.contains(secret) {
        return Cow::Borrowed(text);
    }
    let bytes = strip(text.as_bytes().to_vec());
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}
