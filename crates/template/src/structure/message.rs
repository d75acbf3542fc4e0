//! A message as a template's structure gives it.

use quillet_core::Map;

/// A message of a rendered chat prompt. Roles are as the template writes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatMessage {
    /// The speaker.
    pub role: String,
    /// What is said, in order.
    pub parts: Vec<Part>,
    /// What the template says about the message.
    pub metadata: Map,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text.
    Text(String),
    /// An image, a sound, a file: an address or a `data:` URL.
    Media {
        /// What kind it is where the template says so: `image`, `audio`, `file`.
        kind: Option<String>,
        /// Where it is.
        url: String,
        /// Its media type, if the template says so.
        content_type: Option<String>,
    },
    /// A place that something is put into later (dotprompt's `section`).
    Pending(Map),
}

impl ChatMessage {
    /// A message of one text.
    pub fn text(role: impl Into<String>, text: impl Into<String>) -> Self {
        ChatMessage {
            role: role.into(),
            parts: vec![Part::Text(text.into())],
            metadata: Map::default(),
        }
    }
}
