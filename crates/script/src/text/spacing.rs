//! Blanks around what is put in the middle of a text. An author leaves one on each side, and the
//! superfluous ones go (rule 65 of `docs/scripts/language.md`).

/// Puts a value behind the text so far, and the text that follows behind it.
///
/// The blank that an author must leave around `[[@…]]` and `[[/…/:X]]` stays one blank, and goes
/// where the value brings its own or is empty, and before punctuation.
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
        // One byte is one blank, because the gap holds only spaces and tabs.
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

/// Whether a text begins with a mark that no blank comes before. `.5` and `:name` begin words.
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
