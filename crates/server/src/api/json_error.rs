//! Translates serde's messages, which name Rust types, into JSON terms.

/// Returns the reason of a JSON error without type names and without the offending text.
pub(crate) fn json_error_message(error: &serde_json::Error) -> String {
    plain(&quillet_core::json::reason(error))
}

/// Translates a message of serde into JSON terms.
pub(crate) fn plain(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut words = message.split(' ').peekable();
    while let Some(word) = words.next() {
        let (bare, end) = match word.trim_end_matches([',', ';', ':']) {
            bare if bare.len() < word.len() => (bare, &word[bare.len()..]),
            _ => (word, ""),
        };
        let mut end = end.to_owned();
        let said = match bare {
            // Skips `tuple struct X with 2 elements` and `internally tagged enum X`, which describe
            // the Rust type.
            "tuple" if words.peek() == Some(&"struct") => continue,
            // The client does not need to know how serde represents an enum.
            "internally" | "adjacently" | "untagged" | "tagged" => continue,
            "struct" | "enum" | "variant" if is_type(words.peek()) => {
                let name = words.next().unwrap_or_default();
                end = name.trim_start_matches(is_in_name).to_owned();
                if words.peek() == Some(&"with") {
                    words.by_ref().take(3).for_each(drop);
                }
                match bare {
                    "struct" => "a JSON object",
                    _ => "one of its forms",
                }
            }
            "map" | "struct" => "object",
            "sequence" | "seq" | "tuple" => "list",
            "unit" => "null",
            "usize" | "u8" | "u16" | "u32" | "u64" | "u128" => "a whole number from 0",
            "isize" | "i8" | "i16" | "i32" | "i64" | "i128" => "a whole number",
            "f32" | "f64" => "a number",
            "bool" => "true or false",
            "enum" => "choice",
            other => other,
        };
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(said);
        out.push_str(&end);
    }
    out
}

/// Returns whether a word is the name of a type. serde writes type names as in the code.
fn is_type(word: Option<&&str>) -> bool {
    word.is_some_and(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '<' | '>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_program_are_not_named() {
        for (message, expected) in [
            (
                "invalid type: sequence, expected struct RenderRequest at line 1 column 0",
                "invalid type: list, expected a JSON object at line 1 column 0",
            ),
            (
                "invalid length 0, expected struct Message with 5 elements at line 1 column 2",
                "invalid length 0, expected a JSON object at line 1 column 2",
            ),
            (
                "invalid value: integer `-1`, expected usize at line 1",
                "invalid value: integer `-1`, expected a whole number from 0 at line 1",
            ),
            (
                "data did not match any variant of untagged enum Content",
                "data did not match any variant of one of its forms",
            ),
            (
                "invalid type: map, expected a string",
                "invalid type: object, expected a string",
            ),
            ("missing field `role`", "missing field `role`"),
        ] {
            assert_eq!(plain(message), expected);
        }
    }
}
