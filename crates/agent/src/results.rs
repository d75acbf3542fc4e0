//! What a model reads of the result of a call.

use quillet_core::chat::TokenCounter;
use quillet_core::{MediaUrl, Value, json};

use crate::scope::RunContext;

/// Bytes that are counted at once while the place of a cut is looked for.
const PIECE: usize = 4_096;

/// A text as it is, everything else as JSON.
pub(crate) fn text(output: &Value) -> String {
    match output {
        Value::Str(text) => text.to_string(),
        other => json::to_string(other),
    }
}

/// A text cut to the limit on tokens of a result: its beginning, three quarters, and
/// its end, where commands report how they went.
pub(crate) fn cut(text: String, scope: &RunContext) -> String {
    let limit = scope.limits.result_tokens;
    let counter = &*scope.counter;
    // No token is shorter than a byte.
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

/// Pictures of a result.
pub(crate) struct Images {
    /// Those that the model is shown.
    pub(crate) shown: Vec<MediaUrl>,
    /// What it is told of the others, if there are any.
    pub(crate) left_out: String,
}

/// Which pictures of a result the model is shown: the first ones, within the limit.
pub(crate) fn images(mut given: Vec<MediaUrl>, scope: &RunContext) -> Images {
    let most = scope.limits.result_images;
    let left_out = match given.len().saturating_sub(most) {
        0 => String::new(),
        count if most == 0 => format!("\n[{count} pictures are not shown: this model takes none]"),
        count => format!("\n[{count} more pictures are not shown: the limit is {most}]"),
    };
    given.truncate(most);
    Images {
        shown: given,
        left_out,
    }
}

/// Bytes from the beginning that hold at most this many tokens. Counts what it keeps
/// and little more, however long the text is.
fn head(text: &str, tokens: u64, counter: &dyn TokenCounter) -> usize {
    let (mut kept, mut left) = (0, tokens);
    while kept < text.len() {
        let end = text.floor_char_boundary((kept + PIECE).min(text.len()));
        let piece = &text[kept..end];
        let used = counter.text(piece);
        if used > left {
            return kept
                + within(piece.len(), |bytes| {
                    let bytes = piece.floor_char_boundary(bytes);
                    (counter.text(&piece[..bytes]) <= left).then_some(bytes)
                });
        }
        (kept, left) = (end, left - used);
    }
    kept
}

/// The same from the end.
fn tail(text: &str, tokens: u64, counter: &dyn TokenCounter) -> usize {
    let (mut kept, mut left) = (0, tokens);
    while kept < text.len() {
        let end = text.len() - kept;
        let begin = text.ceil_char_boundary(end.saturating_sub(PIECE));
        let piece = &text[begin..end];
        let used = counter.text(piece);
        if used > left {
            return kept
                + within(piece.len(), |bytes| {
                    let from = piece.ceil_char_boundary(piece.len() - bytes);
                    (counter.text(&piece[from..]) <= left).then_some(piece.len() - from)
                });
        }
        (kept, left) = (kept + piece.len(), left - used);
    }
    kept
}

/// The largest number of bytes that fits, by halving.
fn within(most: usize, fits: impl Fn(usize) -> Option<usize>) -> usize {
    let (mut fitting, mut low, mut high) = (0, 0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match fits(middle) {
            Some(bytes) => (fitting, low) = (bytes, middle),
            None => high = middle - 1,
        }
    }
    fitting
}
