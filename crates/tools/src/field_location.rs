//! Locates a field in a JSON text, for messages. Definitions are parsed without locations; only
//! after an error is the text scanned again along one path, so that valid definitions pay nothing.

use std::collections::HashMap;

use quillet_core::Span;
use serde_json::value::RawValue;

/// The place of the value under a path of keys and list positions; the place
/// of the deepest part that exists, where it does not exist to the end.
pub(crate) fn of_value(text: &str, path: &[&str]) -> Span {
    let mut part = text.trim();
    for step in path {
        let Some(inner) = member(part, step) else {
            break;
        };
        part = inner;
    }
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    // The whole extent of an object or list would underline half of the file, so only its start is
    // used.
    let end = match part.as_bytes().first() {
        Some(b'{' | b'[') => start + 1,
        _ => start + part.len(),
    };
    Span { start, end }
}

/// The place of the key at the end of a path.
pub(crate) fn of_key(text: &str, path: &[&str]) -> Span {
    let value = of_value(text, path);
    let Some(key) = path.last() else { return value };
    let before = text[..value.start]
        .trim_end()
        .trim_end_matches(':')
        .trim_end();
    let quoted = format!("\"{key}\"");
    match before.strip_suffix(&quoted) {
        Some(rest) => Span {
            start: rest.len(),
            end: before.len(),
        },
        None => value,
    }
}

fn member<'t>(part: &'t str, step: &str) -> Option<&'t str> {
    if part.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(part).ok()?;
        return Some(items.get(step.parse::<usize>().ok()?)?.get());
    }
    let mut members: HashMap<String, &RawValue> = serde_json::from_str(part).ok()?;
    Some(members.remove(step)?.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_values_and_keys() {
        let text = "\n {\"a\": {\"b\" :  12, \"c\": [1, {\"d\": \"x\"}]}}";
        let cases: [(&[&str], &str, &str); 5] = [
            (&["a", "b"], "12", "\"b\""),
            (&["a", "c", "1", "d"], "\"x\"", "\"d\""),
            (&["a"], "{", "\"a\""),
            (&["a", "missing"], "{", "{"),
            (&[], "{", "{"),
        ];
        for (path, value, key) in cases {
            let Span { start, end } = of_value(text, path);
            assert_eq!(&text[start..end], value, "{path:?}");
            let Span { start, end } = of_key(text, path);
            assert_eq!(&text[start..end], key, "{path:?}");
        }
    }
}
