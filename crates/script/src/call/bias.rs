//! Converts `((text:bias))` to `logit_bias`.

use quillet_core::chat::ChatOptions;
use serde_json::{Map as JsonMap, Value as Json};

use crate::host::ModelHandle;
use crate::text::bias::{Amount, Bias};

/// Maximum number of tokens in `logit_bias` of the OpenAI Chat API.
const MOST_TOKENS: usize = 300;
/// The strongest bias: a token never occurs, or always.
const MOST: f64 = 100.0;

/// Adds the biases to the request, or returns a warning if they have no effect. Entries that the
/// author set in `logit_bias` take precedence.
pub(super) fn apply(
    biases: &[Bias],
    model: &ModelHandle,
    options: &mut ChatOptions,
) -> Option<String> {
    let first = biases.first()?;
    let no_effect = |why: &str| Some(format!("(({}:…)) has no effect: {why}", first.text));
    if !model.abilities.logit_bias {
        return no_effect("this model's provider does not support logit_bias");
    }
    let Some(found) = tokens(biases, model) else {
        return no_effect("the tokenizer of this model is unknown");
    };
    let mut warning = None;
    if found.len() > MOST_TOKENS {
        warning = Some(format!(
            "the texts of (({}:…)) and other biases have {} tokens; only the first {MOST_TOKENS} \
            are biased",
            first.text,
            found.len()
        ));
    }
    let mut sent: JsonMap<String, Json> = found.into_iter().take(MOST_TOKENS).collect();
    if let Some(Json::Object(own)) = options.extra.remove("logit_bias") {
        sent.extend(own);
    }
    options
        .extra
        .insert("logit_bias".to_owned(), Json::Object(sent));
    warning
}

/// Returns the biases by token, for each text with and without a leading space. For a text that
/// must never occur, only its first token is excluded, because the other tokens are part of many
/// words.
fn tokens(biases: &[Bias], model: &ModelHandle) -> Option<JsonMap<String, Json>> {
    // If no token contains both the space and the word, the space is a separate token, which is
    // skipped.
    let blank = model.counter.token_ids(" ")?;
    let mut found = JsonMap::new();
    for bias in biases {
        let amount = amount(bias.amount);
        for text in [bias.text.clone(), format!(" {}", bias.text)] {
            let ids = model.counter.token_ids(&text)?;
            let many = match bias.amount {
                Amount::Never => 1,
                Amount::Add(_) | Amount::Percent(_) => ids.len(),
            };
            let ids = ids.into_iter().filter(|id| !blank.contains(id)).take(many);
            found.extend(ids.map(|id| (id.to_string(), amount.into())));
        }
    }
    Some(found)
}

/// Returns the value to add to the logit: the logarithm of 1.2 for 120 %.
fn amount(amount: Amount) -> f64 {
    let added = match amount {
        Amount::Never => -MOST,
        Amount::Add(added) => added,
        Amount::Percent(percent) if percent <= -100.0 => -MOST,
        Amount::Percent(percent) => (percent / 100.0).ln_1p(),
    };
    added.clamp(-MOST, MOST)
}
