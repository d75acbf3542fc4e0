//! White space around inserted values. Authors leave a space on each side, and superfluous ones are
//! removed (rule 65 of `docs/scripts/language.md`).

/// Appends an inserted value and the text that follows the value to `out`.
///
/// Authors must leave white space around `[[@…]]` and `[[/…/:X]]`. This function reduces it to one
/// space between the value and the text. The space is omitted before punctuation, if the value is
/// empty, or if the value itself ends with white space.
///
/// ```
/// use quillet_script::text::spacing::splice;
///
/// let mut text = "Hello ".to_owned();
/// splice(&mut text, "Ada", " .");
/// assert_eq!(text, "Hello Ada.");
/// ```
pub fn splice(out: &mut String, value: &str, after: &str) {
    out.push_str(fitting_value(out, value));
    let blanks = after.len() - after.trim_start_matches(is_blank).len();
    let Some((gap, rest)) = after.split_at_checked(blanks) else {
        return;
    };
    let spaced = out.is_empty() || out.ends_with(char::is_whitespace);
    if !gap.is_empty() && !spaced && !begins_with_punctuation(rest) {
        // The gap contains only spaces and tabs, so its first byte is one character.
        out.push_str(gap.get(..1).unwrap_or(gap));
    }
    out.push_str(rest);
}

fn fitting_value<'v>(out: &str, value: &'v str) -> &'v str {
    if out.ends_with(is_blank) {
        value.trim_start_matches(is_blank)
    } else {
        value
    }
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// Returns whether a text starts with punctuation that follows without a space. `.5` and `:name`
/// are words.
fn begins_with_punctuation(text: &str) -> bool {
    let mut chars = text.chars();
    match chars.next() {
        Some(
            '，' | '。' | '、' | '；' | '：' | '！' | '？' | '）' | '】' | '》' | '」' | '』' | '”'
            | '’' | '…',
        ) => true,
        Some(',' | '.' | ';' | ':' | '!' | '?' | ')' | ']' | '}') => {
            !chars.next().is_some_and(char::is_alphanumeric)
        }
        _ => false,
    }
}
