//! A message as a template's structure gives it.

use quillet_core::{ContentPart, Map, Message, Role};

use crate::error::{ErrorKind, RenderError};

/// A message of a rendered chat prompt. Roles are as the template writes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatMessage {
    /// The speaker.
    pub role: String,
    /// What is said, in order.
    pub parts: Vec<MessagePart>,
    /// What the template says about the message.
    pub metadata: Map,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessagePart {
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
            parts: vec![MessagePart::Text(text.into())],
            metadata: Map::default(),
        }
    }

    /// The message as a model is sent it. A place that nobody filled is no part of it, and `model`,
    /// Gemini's and dotprompt's name, is the assistant.
    ///
    /// # Errors
    /// It has a role that no model knows.
    pub fn into_message(self) -> Result<Message, Box<RenderError>> {
        let role = match self.role.to_ascii_lowercase().as_str() {
            "model" => Some(Role::Assistant),
            other => Role::parse(other),
        };
        let Some(role) = role else {
            let reason = format!("a message has the unknown role {:?}", self.role);
            let mut error = RenderError::new(ErrorKind::Execution, reason);
            let help = "roles are system, developer, user, assistant (or model), tool";
            error.help = Some(help.to_owned());
            return Err(error.into());
        };
        let parts: Vec<ContentPart> = self.parts.into_iter().filter_map(content).collect();
        Ok(Message::new(role, parts))
    }
}

/// What has a form on the wire; a place that nobody filled has none.
fn content(part: MessagePart) -> Option<ContentPart> {
    match part {
        MessagePart::Text(text) => Some(ContentPart::text(text)),
        MessagePart::Media {
            kind,
            url,
            content_type,
        } => Some(ContentPart::media(
            &url,
            kind.as_deref(),
            content_type.as_deref(),
        )),
        MessagePart::Pending(_) => None,
    }
}
