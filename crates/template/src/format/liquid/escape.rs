//! Escapes text so that Liquid prints it unchanged.

/// Returns the text with Liquid's delimiters replaced by outputs that print them.
pub(super) fn escape(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len() + 16);
    let mut rest = literal;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let special = match behind.chars().next() {
            // A brace may follow the text, so a final brace is also escaped.
            None => "{",
            Some('{') => "{{",
            Some('%') => "{%",
            Some(_) => "",
        };
        match special {
            "" => out.push('{'),
            special => out.extend(["{{ '", special, "' }}"]),
        }
        rest = &rest[at + special.len().max(1)..];
    }
    out + rest
}
