//! Maps prompt names of other services, which can be any text, to ids and back.
//!
//! A name that consists of letters, digits, `-`, `_` and single inner dots is also the id. Other
//! characters are percent-encoded, as in `folder%2Fgreeting`, so that an id never has a special
//! meaning in a path, a version selector (`@`) or a file name.

use std::fmt::Write;

use percent_encoding::percent_decode_str;

/// Returns the id for a name, or `None` if the name is empty.
pub(crate) fn id_of(name: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let mut id = String::with_capacity(name.len());
    let mut before = '.';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        // A dot at the start, at the end or next to another dot would be an empty path segment of
        // an id.
        let is_dot = c == '.' && before != '.' && chars.peek().is_some_and(|next| *next != '.');
        if c.is_alphanumeric() || matches!(c, '-' | '_') || is_dot {
            id.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(id, "%{byte:02X}");
            }
        }
        before = c;
    }
    Some(id)
}

/// Returns the name that maps to an id, or the id itself if none does.
pub(crate) fn name_of(id: &str) -> String {
    let name = percent_decode_str(id).decode_utf8();
    let name = name.ok().filter(|name| id_of(name).as_deref() == Some(id));
    name.map_or_else(|| id.to_owned(), |name| name.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_an_id_of_its_own() {
        let names = [
            ("greet.hello", "greet.hello"),
            ("a-b_c", "a-b_c"),
            ("folder/greeting", "folder%2Fgreeting"),
            ("with spaces", "with%20spaces"),
            ("with%20spaces", "with%2520spaces"),
            ("a:b", "a%3Ab"),
            ("a@b", "a%40b"),
            (".a", "%2Ea"),
            ("a.", "a%2E"),
            ("a..b", "a%2E%2Eb"),
            ("..", "%2E%2E"),
            ("名前-тест", "名前-тест"),
            ("🚀", "%F0%9F%9A%80"),
            ("a\\b\"'<>|?*", "a%5Cb%22%27%3C%3E%7C%3F%2A"),
            ("line\nbreak", "line%0Abreak"),
        ];
        for (name, id) in names {
            assert_eq!(id_of(name).as_deref(), Some(id), "{name}");
            assert_eq!(name_of(id), name);
        }
        assert_eq!(id_of(""), None);
        // These ids do not correspond to any client name.
        for id in ["50%off", "a/b", "a%zz", "a%2fb"] {
            assert_eq!(name_of(id), id);
        }
    }
}
