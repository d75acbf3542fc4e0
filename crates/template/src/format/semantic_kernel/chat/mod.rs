//! Parses a rendered and encoded chat prompt into messages, as Semantic Kernel does before it calls
//! a model.
//!
//! The parser is for text from other programs. The output of the format `semantic-kernel` already
//! contains its messages, see [`crate::RenderedTemplate::messages`]. In the text parsed here,
//! unencoded data is structure.

mod dot_net;
mod names;
mod prompt;
mod python;
mod xml;

use crate::format::semantic_kernel::encoding::HostLanguage;
pub use prompt::{ChatPrompt, ChatPromptError};

/// Returns the messages in rendered and encoded text.
///
/// In .NET, the text is a chat prompt if it is well-formed XML and contains a top-level `<message>`
/// that has a role. Text between messages is discarded. Any other text is a single user message and
/// is not decoded. In Python, text before the first message becomes a system message, and text
/// between messages becomes a user message.
///
/// # Errors
/// In Python, returns an error for an unknown role, a message without a role, an image that is not
/// a `data:` URL, and an element other than a message in `<chat_history>`.
pub fn parse(text: &str, dialect: HostLanguage) -> Result<ChatPrompt, ChatPromptError> {
    match dialect {
        HostLanguage::DotNet => Ok(dot_net::parse(text)),
        HostLanguage::Python => python::parse(text),
    }
}
