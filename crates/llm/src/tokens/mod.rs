//! Token counting: exact for OpenAI models, estimated for all others, whose tokenizers are not
//! public or not included here.
//!
//! An exact counter loads its vocabulary on first use (about 0.1 s and 45 MB, once per process). To
//! check only that a conversation is short, use `TokenCounter::most`, which loads nothing.

mod bpe;
mod estimate;

use std::sync::Arc;

use quillet_core::chat::TokenCounter;

use crate::models::{ModelFacts, Tokenizer};
use bpe::Bpe;
use estimate::{CLAUDE, Estimate, GEMINI, OTHER, WordTokenizer};

/// Returns the counter for a model name.
///
/// # Examples
///
/// ```
/// use quillet_llm::tokens::counter_for;
///
/// // The mock counts words.
/// assert_eq!(counter_for("mock").count_text("three short words"), 3);
/// ```
#[must_use]
pub fn counter_for(model: &str) -> Arc<dyn TokenCounter> {
    counter(ModelFacts::built_in().find(model).tokenizer)
}

/// Returns the counter for a tokenizer.
#[must_use]
pub fn counter(tokenizer: Tokenizer) -> Arc<dyn TokenCounter> {
    match tokenizer {
        Tokenizer::O200k => Arc::new(Bpe::O200k),
        Tokenizer::Cl100k => Arc::new(Bpe::Cl100k),
        Tokenizer::Claude => Arc::new(Estimate(&CLAUDE)),
        Tokenizer::Gemini => Arc::new(Estimate(&GEMINI)),
        Tokenizer::Words => Arc::new(WordTokenizer),
        Tokenizer::Other => Arc::new(Estimate(&OTHER)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quillet_core::{ContentPart, Message, Role, ToolCall};

    use super::*;

    #[test]
    fn every_family_has_its_counter() {
        for (model, text, tokens) in [
            ("gpt-4o", "tiktoken is great!", 6),
            ("gpt-4", "tiktoken is great!", 6),
            ("mock", "tiktoken is great!", 3),
            ("claude-opus-4", "great great", 3),
            ("gemini-2.5-pro", "great great", 2),
            ("my-own", "great great", 3),
        ] {
            assert_eq!(counter_for(model).count_text(text), tokens, "{model}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn no_message_has_more_tokens_than_the_bound_says(
            texts in prop::collection::vec("\\PC{0,60}|[ \n\t]{0,20}|[a-z0-9]{0,60}", 4),
        ) {
            let mut message = Message::new(Role::Assistant, texts[0].as_str());
            message.reasoning = Some(texts[1].clone());
            message.tool_calls.push(ToolCall {
                id: "call_1".to_owned(),
                name: texts[2].clone(),
                arguments: texts[3].clone(),
            });
            let image = ContentPart::media("https://example.org/a.png", None, None);
            let parts = vec![ContentPart::text(texts[0].as_str()), image];
            for model in ["gpt-4o", "gpt-4", "claude-opus-4", "gemini-2.5-pro", "my-own", "mock"] {
                let counter = counter_for(model);
                prop_assert!(counter.count_message(&message) <= counter.upper_bound(&message), "{model}");
                let media = Message::new(Role::User, parts.clone());
                prop_assert!(counter.count_message(&media) <= counter.upper_bound(&media), "{model}");
            }
        }
    }
}
