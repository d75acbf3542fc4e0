//! The result of parsing a chat prompt, for both dialects.

use crate::structure::{ChatMessage, MessagePart};

/// The result of parsing a chat prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatPrompt {
    /// The messages.
    pub messages: Vec<ChatMessage>,
    /// Whether the text contains messages. Otherwise, the entire text is a single user message.
    pub structured: bool,
}

/// Error for text that Semantic Kernel for Python rejects as a chat prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ChatPromptError {
    /// Message of the error.
    pub message: String,
}

impl ChatPromptError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        ChatPromptError {
            message: message.into(),
        }
    }
}

/// Returns the entire text as one message.
pub(super) fn unstructured(text: &str) -> ChatPrompt {
    ChatPrompt {
        messages: vec![ChatMessage::text("user", text)],
        structured: false,
    }
}

/// Creates a message from its attributes, which include the role.
pub(super) fn message(
    role: &str,
    attributes: &[(String, String)],
    parts: Vec<MessagePart>,
) -> ChatMessage {
    let others = attributes.iter().filter(|(name, _)| name != "role");
    ChatMessage {
        role: role.to_owned(),
        parts,
        metadata: others
            .map(|(name, value)| (name.as_str(), value.as_str().into()))
            .collect(),
    }
}
