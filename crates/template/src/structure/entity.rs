//! Character references in markup: `&lt;`, `&#39;`, `&#x27;`.

/// Maximum length of a reference, including `&` and `;`, as in `&#x0010FFFF;`.
const LONGEST: usize = 12;

/// Decodes the character reference at the start of a text, which is one of XML's five names or
/// numeric. Returns the character and the length in bytes.
pub(crate) fn read(text: &str) -> Option<(char, usize)> {
    if !text.starts_with('&') {
        return None;
    }
    let near = text.as_bytes().get(..text.len().min(LONGEST))?;
    let end = memchr::memchr(b';', near)?;
    let name = text.get(1..end)?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => numbered(name.strip_prefix('#')?)?,
    };
    Some((character, end + 1))
}

fn numbered(number: &str) -> Option<char> {
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // `from_str_radix` accepts a sign, which is invalid here.
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(digits, radix).ok()?;
    char::from_u32(code).filter(|c| *c != '\0')
}
