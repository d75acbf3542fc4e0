//! How to write a text so that Liquid prints it as it is.

/// The text with everything that Liquid would read as its own in outputs of constants.
pub(super) fn escape(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len() + 16);
    let mut rest = literal;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let special = match behind.chars().next() {
            // What follows may begin with a brace, so none stands at the end.
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
