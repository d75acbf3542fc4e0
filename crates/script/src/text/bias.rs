//! `((text:bias))` and `((!text:bias))`.
//!
//! The marks are never sent to a model, even if its provider does not support biases.

use crate::text::spacing::splice;

/// Text that the model should use more or less often.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    /// The text.
    pub text: String,
    /// The size of the change.
    pub amount: Amount,
}

/// The change of the text's probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Added to the logits.
    Add(f64),
    /// Percentage of the original probability: 20 multiplies it by 1.2.
    Percent(f64),
    /// `false`: never generated.
    Never,
}

/// Removes bias marks from a message text and returns the biases, in order. `((text:…))` is
/// replaced by its text, and `((!text:…))` is removed.
#[must_use]
pub fn strip(text: &str) -> (String, Vec<Bias>) {
    let mut out = String::with_capacity(text.len());
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, inside, after)) = next(rest) {
        // Ordinary double parentheses are not changed.
        let Some((bias, hidden)) = bias_of(inside) else {
            let kept = rest.len() - after.len();
            out.push_str(rest.get(..kept).unwrap_or_default());
            rest = after;
            continue;
        };
        out.push_str(before);
        if hidden {
            // The hidden mark is removed together with one of the two spaces around it.
            let gap = after.len() - after.trim_start_matches(' ').len();
            splice(&mut out, "", after.get(..gap).unwrap_or_default());
            rest = after.get(gap..).unwrap_or_default();
            if rest.is_empty() {
                out.truncate(out.trim_end_matches(' ').len());
            }
        } else {
            out.push_str(&bias.text);
            rest = after;
        }
        found.push(bias);
    }
    out.push_str(rest);
    (out, found)
}

/// Finds the first `))` and the last `((` before it. Returns the text before, between and after
/// them.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = text.find("((")?;
    let close = from + text.get(from..)?.find("))")?;
    // The innermost pair is used: an earlier unclosed `((` is text.
    from = text.get(..close)?.rfind("((").unwrap_or(from);
    Some((
        text.get(..from)?,
        text.get(from + 2..close)?,
        text.get(close + 2..)?,
    ))
}

fn bias_of(inside: &str) -> Option<(Bias, bool)> {
    let hidden = inside.starts_with('!');
    let (text, amount) = inside
        .strip_prefix('!')
        .unwrap_or(inside)
        // The last colon is used, because the biased text may contain colons.
        .rsplit_once([':', '：'])?;
    let amount = amount_of(amount.trim())?;
    let text = text.to_owned();
    (!text.trim().is_empty()).then_some((Bias { text, amount }, hidden))
}

fn amount_of(text: &str) -> Option<Amount> {
    if text == "false" {
        return Some(Amount::Never);
    }
    let (number, percent) = match text.strip_suffix(['%', '％']) {
        Some(number) => (number, true),
        None => (text, false),
    };
    // Rust parses `inf` and `nan` as numbers, but in a script they are words.
    let plain = number
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    let number: f64 = number.parse().ok().filter(|_| plain)?;
    Some(if percent {
        Amount::Percent(number)
    } else {
        Amount::Add(number)
    })
}
