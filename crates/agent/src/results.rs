//! Results of calls in the form that the model reads.

use quillet_core::chat::TokenCounter;
use quillet_core::{MediaUrl, Value, json};

use crate::scope::RunContext;

/// Bytes counted per step of the search for a cut position.
const PIECE: usize = 4_096;

/// Converts a result to text. Strings are unchanged, and other values become JSON.
pub(crate) fn text(output: &Value) -> String {
    match output {
        Value::Str(text) => text.to_string(),
        other => json::to_string(other),
    }
}

/// Cuts a text to the limit on result tokens. Three quarters are taken from its start, and one
/// quarter from its end, where commands report their status.
pub(crate) fn cut(text: String, scope: &RunContext) -> String {
    let limit = scope.limits.result_tokens;
    let counter = &*scope.counter;
    // A token has at least one byte, so short texts need no counting.
    if text.len() as u64 <= limit {
        return text;
    }
    let whole = head(&text, limit, counter);
    if whole == text.len() {
        return text;
    }
    let begin = head(&text, limit - limit / 4, counter);
    let (kept, rest) = text.split_at(begin);
    let end = tail(rest, limit / 4, counter);
    let (left_out, last) = rest.split_at(rest.len() - end);
    format!(
        "{kept}\n[… {} of {} characters left out: the limit on result_tokens is {limit} …]\n{last}",
        left_out.chars().count(),
        text.chars().count(),
    )
}

/// Images of a result.
pub(crate) struct Images {
    /// Images that the model gets.
    pub(crate) shown: Vec<MediaUrl>,
    /// Notice about omitted images, or empty.
    pub(crate) left_out: String,
}

/// Selects the first images of a result, up to the limit.
pub(crate) fn images(mut given: Vec<MediaUrl>, scope: &RunContext) -> Images {
    let most = scope.limits.result_images;
    let left_out = match given.len().saturating_sub(most) {
        0 => String::new(),
        count if most == 0 => {
            format!("\n[{count} pictures are not shown: this model does not accept pictures]")
        }
        count => format!("\n[{count} more pictures are not shown: the limit is {most}]"),
    };
    // Truncated after counting, so that the notice has the number of omitted images.
    given.truncate(most);
    Images {
        shown: given,
        left_out,
    }
}

/// Returns the number of leading bytes that contain at most this many tokens. Counts little more
/// than the returned bytes, even in a long text.
fn head(text: &str, tokens: u64, counter: &dyn TokenCounter) -> usize {
    let (mut kept, mut left) = (0, tokens);
    while kept < text.len() {
        // A step is far longer than a character, so the loop always advances.
        let end = text.floor_char_boundary((kept + PIECE).min(text.len()));
        let piece = &text[kept..end];
        let used = counter.count_text(piece);
        if used > left {
            return kept
                + within(piece.len(), |bytes| {
                    let bytes = piece.floor_char_boundary(bytes);
                    (counter.count_text(&piece[..bytes]) <= left).then_some(bytes)
                });
        }
        (kept, left) = (end, left - used);
    }
    kept
}

/// Like [`head`], but for trailing bytes.
fn tail(text: &str, tokens: u64, counter: &dyn TokenCounter) -> usize {
    let (mut kept, mut left) = (0, tokens);
    while kept < text.len() {
        let end = text.len() - kept;
        let begin = text.ceil_char_boundary(end.saturating_sub(PIECE));
        let piece = &text[begin..end];
        let used = counter.count_text(piece);
        if used > left {
            return kept
                + within(piece.len(), |bytes| {
                    let from = piece.ceil_char_boundary(piece.len() - bytes);
                    (counter.count_text(&piece[from..]) <= left).then_some(piece.len() - from)
                });
        }
        (kept, left) = (kept + piece.len(), left - used);
    }
    kept
}

/// Returns the largest number of bytes that fits, found by bisection.
fn within(most: usize, fits: impl Fn(usize) -> Option<usize>) -> usize {
    let (mut fitting, mut low, mut high) = (0, 0, most);
    while low < high {
        // Rounded up, because `low` would otherwise not advance at a distance of one.
        let middle = low + (high - low).div_ceil(2);
        match fits(middle) {
            Some(bytes) => (fitting, low) = (bytes, middle),
            None => high = middle - 1,
        }
    }
    fitting
}
