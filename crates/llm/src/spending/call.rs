//! Maximum and actual cost of a call.

use quillet_core::budget::{Amount, NANO};
use quillet_core::chat::{ChatOptions, ChatRequest, Usage};

use crate::models::{ModelInfo, Vendor};
use crate::tokens::counter;

/// Tokens that a provider API adds to a request.
const AROUND: u64 = 8;
/// Divisor of the safety margin for an inexact token estimate, which is a quarter.
const MARGIN: u64 = 4;

/// A model and its price.
#[derive(Clone, Debug)]
pub(crate) struct PricedModel {
    pub(crate) name: String,
    pub(crate) vendor: Vendor,
    pub(crate) facts: ModelInfo,
    /// Whether the key came with the request.
    pub(crate) own_key: bool,
}

/// Price of tokens.
#[derive(Clone, Debug)]
pub(super) enum TokenPrice {
    /// No cost: the mock.
    Free,
    /// The price from the model info.
    Known(Box<ModelInfo>),
    /// US dollars per million tokens of any kind.
    Flat(f64),
    /// The price is unknown.
    Unknown,
}

impl TokenPrice {
    pub(super) fn of(asked: &PricedModel, unpriced: Option<f64>) -> Self {
        // Checked before the price lookup, because the mock answers under any model name.
        if asked.vendor == Vendor::Mock {
            return TokenPrice::Free;
        }
        if asked.facts.price.is_some() {
            return TokenPrice::Known(Box::new(asked.facts.clone()));
        }
        unpriced.map_or(TokenPrice::Unknown, TokenPrice::Flat)
    }

    /// Returns the amount for this usage, rounded up to billionths of a dollar.
    pub(super) fn amount(&self, usage: &Usage) -> Amount {
        let tokens = usage.total_tokens();
        let usd = match self {
            TokenPrice::Free | TokenPrice::Unknown => 0.0,
            TokenPrice::Known(facts) => facts.cost(usage).unwrap_or_default(),
            TokenPrice::Flat(price) => tokens as f64 * price / 1e6,
        };
        Amount {
            tokens,
            // Floating-point products such as 4.1 × 10 can be slightly too large, which must not
            // add one more billionth.
            nano_usd: (usd * NANO - 1e-3).ceil().max(0.0) as u64,
        }
    }
}

/// Estimated tokens of a call before it is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallEstimate {
    /// Tokens of the request.
    pub(super) input: u64,
    /// Maximum tokens of the answer.
    pub(super) output: u64,
}

impl CallEstimate {
    pub(super) fn of(request: &ChatRequest, asked: &PricedModel, answer_tokens: u64) -> Self {
        let counter = counter(asked.facts.tokenizer);
        let options = &request.options;
        let messages = request.messages.iter();
        let mut input: u64 = messages.map(|message| counter.count_message(message)).sum();
        if !options.tools.is_empty() {
            input += counter.count_text(&serde_json::to_string(&options.tools).unwrap_or_default());
        }
        if let Some(format) = &options.response_format {
            input += counter.count_text(&format.to_string());
        }
        input += AROUND;
        // A counter that returns token ids uses the model's actual vocabulary.
        let is_exact = counter.token_ids("a").is_some() || asked.vendor == Vendor::Mock;
        if !is_exact {
            input += input / MARGIN;
        }
        let each = asked_tokens(options).unwrap_or_else(|| {
            let facts = &asked.facts;
            let most = if facts.known {
                facts.max_output
            } else {
                u64::MAX
            };
            answer_tokens.min(most)
        });
        CallEstimate {
            input,
            // Each of the `n` answers may use the full limit, and all are billed.
            output: each.saturating_mul(options.n.unwrap_or(1).max(1).into()),
        }
    }

    /// Returns the maximum cost. All input may be written to the provider's cache, which may cost
    /// more than uncached input.
    pub(super) fn max_cost(&self, tariff: &TokenPrice) -> Amount {
        let plain = Usage {
            input_tokens: self.input,
            output_tokens: self.output,
            ..Usage::default()
        };
        let cached = Usage {
            cache_write_tokens: self.input,
            ..plain
        };
        let (plain, cached) = (tariff.amount(&plain), tariff.amount(&cached));
        if cached.nano_usd > plain.nano_usd {
            cached
        } else {
            plain
        }
    }
}

/// Returns the token limit of the request, under any of the names that clients use.
fn asked_tokens(options: &ChatOptions) -> Option<u64> {
    let named = ["max_completion_tokens", "max_output_tokens"];
    let mut others = named
        .iter()
        .filter_map(|name| options.extra.get(*name)?.as_u64());
    options.max_tokens.or_else(|| others.next())
}

#[cfg(test)]
mod tests {
    use quillet_core::{Message, Role};
    use serde_json::json;

    use super::*;
    use crate::models::ModelFacts;

    fn asked(name: &str, vendor: Vendor) -> PricedModel {
        PricedModel {
            name: name.to_owned(),
            vendor,
            facts: ModelFacts::built_in().find(name),
            own_key: false,
        }
    }

    fn request(options: ChatOptions) -> ChatRequest {
        ChatRequest {
            model: None,
            messages: vec![Message::new(Role::User, "tiktoken is great!")],
            options,
        }
    }

    #[test]
    fn the_most_that_a_call_costs_is_its_prompt_and_the_longest_answer() {
        let model = asked("gpt-4o", Vendor::OpenAi);
        let with = |options| CallEstimate::of(&request(options), &model, 100);
        let plain = with(ChatOptions::default());
        assert_eq!((plain.input, plain.output), (6 + 4 + AROUND, 100));
        let limited = with(ChatOptions {
            max_tokens: Some(7),
            n: Some(3),
            ..ChatOptions::default()
        });
        assert_eq!(limited.output, 21);
        let mut options = ChatOptions::default();
        options
            .extra
            .insert("max_completion_tokens".into(), json!(9));
        assert_eq!(with(options).output, 9);
        let tariff = TokenPrice::of(&model, None);
        // The prices are 2.50 and 10.00 dollars per million tokens.
        let usd = 18.0 * 2.5e-6 + 100.0 * 10e-6;
        assert_eq!(
            plain.max_cost(&tariff).nano_usd,
            (usd * NANO).round() as u64
        );
        assert_eq!(plain.max_cost(&tariff).tokens, 118);
    }

    #[test]
    fn a_cache_that_costs_more_is_reckoned_with() {
        let model = asked("claude-sonnet-4-5", Vendor::Anthropic);
        let call = CallEstimate {
            input: 1_000_000,
            output: 0,
        };
        // Writing a million tokens to the cache costs at least 3.75 dollars, more than the regular
        // price.
        let most = call.max_cost(&TokenPrice::of(&model, None));
        assert!(most.usd() >= 3.75, "{most:?}");
    }

    #[test]
    fn models_without_a_price_cost_what_is_said() {
        let model = asked("my-own", Vendor::OpenAi);
        assert!(matches!(TokenPrice::of(&model, None), TokenPrice::Unknown));
        let usage = Usage {
            input_tokens: 500_000,
            output_tokens: 500_000,
            ..Usage::default()
        };
        let amount = TokenPrice::of(&model, Some(2.0)).amount(&usage);
        assert_eq!(amount.nano_usd, 2_000_000_000);
        let mock = asked("mock", Vendor::Mock);
        assert_eq!(TokenPrice::of(&mock, Some(2.0)).amount(&usage).nano_usd, 0);
    }
}
