//! Parses a rendered and encoded chat prompt into messages, as Semantic Kernel does before it calls
//! a model.
//!
//! This is for text from other programs. Output of the format `semantic-kernel` already contains
//! its messages, see [`crate::Rendered::messages`]. Here, unencoded data is structure.

mod dot_net;
mod names;
mod prompt;
mod python;
mod xml;

use crate::format::semantic_kernel::encoding::HostLanguage;
pub use prompt::{ChatPrompt, ChatPromptError};

/// Returns the messages of a rendered and encoded text.
///
/// In .NET a text is a chat prompt if it is well-formed XML with a top-level `<message>` that has a
/// role; text between messages is lost, and any other text is one user message, not decoded. In
/// Python, text before the first message belongs to the system, and text between messages to the
/// user.
///
/// # Errors
/// In Python: an unknown role, a message without one, an image that is not a `data:` URL, or an
/// element other than messages in `<chat_history>`.
pub fn parse(text: &str, dialect: HostLanguage) -> Result<ChatPrompt, ChatPromptError> {
    match dialect {
        HostLanguage::DotNet => Ok(dot_net::parse(text)),
        HostLanguage::Python => python::parse(text),
    }
}
