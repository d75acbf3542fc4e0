//! Reads a chat prompt that is already rendered and encoded, as Semantic Kernel
//! does before it asks a model: text becomes messages.
//!
//! This is for text from elsewhere. What the format `semantic-kernel` renders
//! has its messages in it, see [`crate::Rendered::messages`]: here data that was
//! not encoded is structure.

mod dot_net;
mod names;
mod python;
mod xml;

use crate::format::semantic_kernel::encoding::HostLanguage;
use crate::structure::{ChatMessage, MessagePart};

/// What a text was taken for.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatPrompt {
    /// The messages.
    pub messages: Vec<ChatMessage>,
    /// Whether the text says so itself. If not, all of it is one message of the user.
    pub structured: bool,
}

/// The error of a text that is refused as a chat prompt. Only Python refuses any.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ChatPromptError {
    /// What is wrong with it.
    pub message: String,
}

impl ChatPromptError {
    fn new(message: impl Into<String>) -> Self {
        ChatPromptError {
            message: message.into(),
        }
    }
}

/// The messages of a rendered and encoded text.
///
/// In .NET a text is a chat prompt if it is well-formed XML and has a `<message>`
/// with a role at its top; text between messages is lost, and any other text is
/// one message of the user, not decoded. In Python text before the first message
/// is the system's and text between messages the user's.
///
/// # Errors
/// In Python: a role that does not exist, a message without one, an image that
/// is no `data:` URL, something else than messages in `<chat_history>`.
pub fn parse(text: &str, dialect: HostLanguage) -> Result<ChatPrompt, ChatPromptError> {
    match dialect {
        HostLanguage::DotNet => Ok(dot_net::parse(text)),
        HostLanguage::Python => python::parse(text),
    }
}

/// All of a text as one message.
fn unstructured(text: &str) -> ChatPrompt {
    ChatPrompt {
        messages: vec![ChatMessage::text("user", text)],
        structured: false,
    }
}

/// A message from its attributes, one of which is its role.
fn message(role: &str, attributes: &[(String, String)], parts: Vec<MessagePart>) -> ChatMessage {
    let others = attributes.iter().filter(|(name, _)| name != "role");
    ChatMessage {
        role: role.to_owned(),
        parts,
        metadata: others
            .map(|(name, value)| (name.as_str(), value.as_str().into()))
            .collect(),
    }
}
