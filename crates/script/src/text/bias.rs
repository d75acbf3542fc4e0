//! `((text:bias))` and `((!text:bias))`.
//!
//! The marks never reach a model, whether its provider can shift probabilities or not.

use crate::text::spacing::splice;

/// Text whose probability is to change.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    /// The text.
    pub text: String,
    /// By how much.
    pub amount: Amount,
}

/// A change of probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Added to the logits.
    Add(f64),
    /// In percent of the probability as it was: 20 makes it 1.2 times that.
    Percent(f64),
    /// `false`: never generated.
    Never,
}

/// The text as a model may read it, and the biases in it, in order.
/// `((text:…))` leaves its text, `((!text:…))` nothing.
#[must_use]
pub fn strip(text: &str) -> (String, Vec<Bias>) {
    let mut out = String::with_capacity(text.len());
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, inside, after)) = next(rest) {
        // Ordinary double parentheses stay as the author wrote them.
        let Some((bias, hidden)) = bias_of(inside) else {
            let kept = rest.len() - after.len();
            out.push_str(rest.get(..kept).unwrap_or_default());
            rest = after;
            continue;
        };
        out.push_str(before);
        if hidden {
            // One of the two blanks around it goes with it.
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

/// The first `))`, and the last `((` before it: what comes before, between and after them.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = text.find("((")?;
    let close = from + text.get(from..)?.find("))")?;
    // The innermost pair: an earlier `((` that nothing closes is text.
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
        // The last colon, because the biased text may contain colons.
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
    // `inf` and `nan` are numbers to the library and words to an author.
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
