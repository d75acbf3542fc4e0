//! Token usage in the formats of all compatible servers.

use quillet_core::chat::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    prompt_tokens: Option<f64>,
    completion_tokens: Option<f64>,
    total_tokens: Option<f64>,
    prompt_tokens_details: Option<TokenDetails>,
    completion_tokens_details: Option<TokenDetails>,
    /// DeepSeek.
    prompt_cache_hit_tokens: Option<f64>,
    /// Gateways for Anthropic.
    cache_read_input_tokens: Option<f64>,
    cache_creation_input_tokens: Option<f64>,
    /// Some servers send it outside the details.
    reasoning_tokens: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenDetails {
    cached_tokens: Option<f64>,
    cache_write_tokens: Option<f64>,
    reasoning_tokens: Option<f64>,
}

/// Returns `None` if the value is not an object of counts.
pub(super) fn usage(raw: &RawValue) -> Option<Usage> {
    let tokens: WireUsage = serde_json::from_str(raw.get()).ok()?;
    let count = |counts: &[Option<f64>]| {
        let first = counts.iter().flatten().find(|count| **count > 0.0);
        first.map_or(0, |count| *count as u64)
    };
    let input = tokens.prompt_tokens_details.unwrap_or_default();
    let output = tokens.completion_tokens_details.unwrap_or_default();
    let reasoning = count(&[output.reasoning_tokens, tokens.reasoning_tokens]);
    let input_tokens = count(&[tokens.prompt_tokens]);
    let generated = count(&[tokens.completion_tokens]);
    // xAI does not include reasoning in the completion tokens, as the total shows.
    let total = count(&[tokens.total_tokens]);
    let is_beside = reasoning > 0
        && input_tokens
            .checked_add(generated)
            .and_then(|sum| sum.checked_add(reasoning))
            == Some(total);
    Some(Usage {
        input_tokens,
        output_tokens: if is_beside {
            generated.saturating_add(reasoning)
        } else {
            generated
        },
        reasoning_tokens: reasoning,
        cache_read_tokens: count(&[
            input.cached_tokens,
            tokens.prompt_cache_hit_tokens,
            tokens.cache_read_input_tokens,
        ]),
        cache_write_tokens: count(&[input.cache_write_tokens, tokens.cache_creation_input_tokens]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_every_form() {
        let cases = [
            (
                r#"{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}"#,
                [3, 2, 0, 0, 0],
            ),
            (
                r#"{"prompt_tokens":3.0,"completion_tokens":null}"#,
                [3, 0, 0, 0, 0],
            ),
            (
                r#"{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":3}}"#,
                [9, 5, 3, 4, 2],
            ),
            (
                r#"{"prompt_tokens":9,"completion_tokens":5,"prompt_cache_hit_tokens":8,"prompt_tokens_details":null}"#,
                [9, 5, 0, 8, 0],
            ),
            (
                r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":3}}"#,
                [9, 8, 3, 0, 0],
            ),
            (
                r#"{"prompt_tokens":-1,"completion_tokens":1e300}"#,
                [0, u64::MAX, 0, 0, 0],
            ),
        ];
        for (text, [input, output, reasoning, read, write]) in cases {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            let expected = Usage {
                input_tokens: input,
                output_tokens: output,
                reasoning_tokens: reasoning,
                cache_read_tokens: read,
                cache_write_tokens: write,
            };
            assert_eq!(usage(&raw), Some(expected), "{text}");
        }
        let raw: Box<RawValue> = serde_json::from_str("7").unwrap();
        assert_eq!(usage(&raw), None);
    }
}
