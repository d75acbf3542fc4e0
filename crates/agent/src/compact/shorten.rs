//! Removes the middle of a text.

/// Approximate length of a notice. A text that exceeds the limit by less would not become shorter.
const NOTICE_CHARACTERS: usize = 120;

/// Retains `keep` characters of a text, 60 % from its start and 40 % from its end, with a notice in
/// between. Also returns the number of removed characters. `None` if the text is short enough.
pub(super) fn shorten(text: &str, keep: usize) -> Option<(String, usize)> {
    // Byte lengths are upper bounds of character counts, so most texts need no counting.
    if text.len() <= keep.saturating_add(NOTICE_CHARACTERS) {
        return None;
    }
    let all = text.chars().count();
    if all <= keep.saturating_add(NOTICE_CHARACTERS) {
        return None;
    }
    let head = keep * 3 / 5;
    let tail = keep - head;
    let (start, end) = (byte_of(text, head), byte_of(text, all - tail));
    let missing = all - keep;
    let text = format!(
        "{}\n[… {missing} of {all} characters were left out here, to fit the model's context window …]\n{}",
        text.get(..start)?,
        text.get(end..)?
    );
    Some((text, missing))
}

fn byte_of(text: &str, character: usize) -> usize {
    let at = text.char_indices().nth(character);
    at.map_or(text.len(), |(byte, _)| byte)
}
