//! Token counting.

use std::fmt;

use crate::{ContentPart, Message, MessageContent};

/// Overhead per message in tokens, as documented by OpenAI for its chat models.
const PER_MESSAGE: u64 = 4;
/// Tokens of an image, as in Chat Shell. Providers count by image size, which is unknown here.
const PER_IMAGE: u64 = 170;

/// Token counter for one family of models, exact or estimated.
pub trait TokenCounter: Send + Sync + fmt::Debug {
    /// Counts the tokens of a text. Special tokens in it count as ordinary text.
    fn count_text(&self, text: &str) -> u64;

    /// Returns the token ids of a text in order, as in `logit_bias`. `None` if tokens are only
    /// estimated.
    fn token_ids(&self, _text: &str) -> Option<Vec<u32>> {
        None
    }

    /// Counts the tokens of a message: texts, calls, media and the overhead per message.
    fn count_message(&self, message: &Message) -> u64 {
        let content = match &message.content {
            MessageContent::Text(text) => self.count_text(text),
            MessageContent::Parts(parts) => parts.iter().map(|part| self.count_part(part)).sum(),
        };
        let calls = message.tool_calls.iter();
        let calls: u64 = calls
            .map(|call| {
                self.count_text(&call.name) + self.count_text(&call.arguments) + PER_MESSAGE
            })
            .sum();
        let reasoning = message.reasoning.as_deref();
        PER_MESSAGE + content + calls + reasoning.map_or(0, |text| self.count_text(text))
    }

    /// Returns an upper bound without counting: no tokenizer produces more tokens than bytes. If
    /// the bound is below a limit, counting is unnecessary.
    fn upper_bound(&self, message: &Message) -> u64 {
        let bytes = |text: &str| text.len() as u64;
        let content = match &message.content {
            MessageContent::Text(text) => bytes(text),
            MessageContent::Parts(parts) => {
                let parts = parts.iter().map(|part| match part {
                    ContentPart::Text { text } => bytes(text),
                    media => self.count_part(media),
                });
                parts.sum()
            }
        };
        let calls = message.tool_calls.iter();
        let calls: u64 = calls
            .map(|call| bytes(&call.name) + bytes(&call.arguments) + PER_MESSAGE)
            .sum();
        PER_MESSAGE + content + calls + message.reasoning.as_deref().map_or(0, bytes)
    }

    /// Counts the tokens of a part of a message.
    fn count_part(&self, part: &ContentPart) -> u64 {
        match part {
            ContentPart::Text { text } => self.count_text(text),
            _ => PER_IMAGE,
        }
    }
}

/// Estimates one token per four bytes. Used if there is no better counter.
///
/// # Examples
///
/// ```
/// use quillet_core::chat::{Bytes4, TokenCounter};
/// use quillet_core::{Message, Role};
///
/// assert_eq!(Bytes4.count_text("Hello, world"), 3);
/// // A message adds four tokens.
/// assert_eq!(Bytes4.count_message(&Message::new(Role::User, "Hello, world")), 7);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Bytes4;

impl TokenCounter for Bytes4 {
    fn count_text(&self, text: &str) -> u64 {
        text.len().div_ceil(4) as u64
    }
}
