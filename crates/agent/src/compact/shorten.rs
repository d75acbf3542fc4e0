//! Removal of the middle of a text.

/// Approximate length of a notice. A text that is hardly longer than the limit would not get
/// shorter.
const NOTICE_CHARACTERS: usize = 120;

/// Keeps `keep` characters of a text, 60 % from its head and 40 % from its tail, with a notice
/// between them; also returns the number of removed characters. `None` if the text is not longer.
pub(super) fn shorten(text: &str, keep: usize) -> Option<(String, usize)> {
    // Byte lengths bound character counts, so most texts are passed without counting.
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
