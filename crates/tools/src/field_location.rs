//! Locates a field in a JSON text for diagnostics. Definitions are parsed without locations. After
//! an error the text is scanned again along one path, so valid definitions cost nothing extra.

use std::collections::HashMap;

use quillet_core::Span;
use serde_json::value::RawValue;

/// Returns the span of the value at a path of keys and list indexes. If the path does not exist,
/// returns the span of its deepest existing part.
pub(crate) fn of_value(text: &str, path: &[&str]) -> Span {
    let mut part = text.trim();
    for step in path {
        let Some(inner) = member(part, step) else {
            break;
        };
        part = inner;
    }
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    // The full span of an object or list would underline half of the file, so only its first
    // character is used.
    let end = match part.as_bytes().first() {
        Some(b'{' | b'[') => start + 1,
        _ => start + part.len(),
    };
    Span { start, end }
}

/// Returns the span of the last key of a path.
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
