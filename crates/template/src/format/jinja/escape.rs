//! Escapes text so that Jinja prints it unchanged.

/// Returns the text with constants in place of everything that Jinja would interpret: tag
/// delimiters, line endings that it would change, and the last newline.
pub(super) fn escape(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len() + 16);
    let mut rest = literal;
    while !rest.is_empty() {
        let (plain, special) = next(rest);
        out.push_str(&rest[..plain]);
        let end = plain + special;
        if special > 0 {
            out.push_str(&constant(&rest[plain..end]));
        }
        rest = &rest[end..];
    }
    out
}

/// Returns the length of the text before the next unsafe bytes, and the number of these bytes.
fn next(text: &str) -> (usize, usize) {
    let bytes = text.as_bytes();
    let special = |at: &usize| match (bytes[*at], bytes.get(at + 1)) {
        // A brace may follow the text, so a final brace is also escaped.
        (b'{', None | Some(b'{' | b'%' | b'#' | b'\r')) | (b'\r', _) | (b'\n', None) => true,
        (b'{', Some(b'\n')) => *at + 2 == bytes.len(),
        _ => false,
    };
    let Some(start) = (0..bytes.len()).find(special) else {
        return (bytes.len(), 0);
    };
    let pair = matches!(bytes[start..], [b'{', b'{' | b'%' | b'#', ..]);
    (start, 1 + usize::from(pair))
}

/// Returns a tag that prints a text.
fn constant(text: &str) -> String {
    let text = text.replace('\r', "\\r").replace('\n', "\\n");
    format!("{{{{ '{text}' }}}}")
}
