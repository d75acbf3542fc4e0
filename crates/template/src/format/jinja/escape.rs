//! How to write a text so that Jinja prints it as it is.

/// The text with everything that Jinja would read as its own in constants:
/// marks of tags, line ends that it would change, the last newline.
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

/// Bytes of text that is safe, and bytes that are not after it.
fn next(text: &str) -> (usize, usize) {
    let bytes = text.as_bytes();
    let special = |at: &usize| match (bytes[*at], bytes.get(at + 1)) {
        // What follows may begin with a brace, so none stands at the end.
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

/// A tag that prints a text.
fn constant(text: &str) -> String {
    let text = text.replace('\r', "\\r").replace('\n', "\\n");
    format!("{{{{ '{text}' }}}}")
}
