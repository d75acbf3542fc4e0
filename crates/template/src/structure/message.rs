//! Messages that a template's structure defines.

use quillet_core::{ContentPart, Map, Message, Role};

use crate::error::{ErrorKind, RenderError};

/// A message of a rendered chat prompt. Roles are spelled as in the template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatMessage {
    /// Role of the speaker.
    pub role: String,
    /// Content parts, in order.
    pub parts: Vec<MessagePart>,
    /// Metadata that the template sets.
    pub metadata: Map,
}

/// A content part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// Media: an address or a `data:` URL.
    Media {
        /// Kind of media if the template names it: `image`, `audio`, `file`.
        kind: Option<String>,
        /// Address of the media.
        url: String,
        /// Media type, if the template names it.
        content_type: Option<String>,
    },
    /// A named position, which is filled later (dotprompt's `section`).
    Pending(Map),
}

impl ChatMessage {
    /// Creates a message that consists of one text part.
    pub fn text(role: impl Into<String>, text: impl Into<String>) -> Self {
        ChatMessage {
            role: role.into(),
            parts: vec![MessagePart::Text(text.into())],
            metadata: Map::default(),
        }
    }

    /// Converts the message to the form that a model receives. Unfilled positions are omitted. The
    /// role `model`, which Gemini and dotprompt use, becomes the assistant.
    ///
    /// # Errors
    /// Returns an error if the role is unknown.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::Role;
    /// use quillet_template::ChatMessage;
    ///
    /// let message = ChatMessage::text("model", "Hello!").into_message().unwrap();
    /// assert_eq!(message.role, Role::Assistant);
    /// assert!(ChatMessage::text("narrator", "Once …").into_message().is_err());
    /// ```
    pub fn into_message(self) -> Result<Message, Box<RenderError>> {
        let role = match self.role.to_ascii_lowercase().as_str() {
            "model" => Some(Role::Assistant),
            other => Role::parse(other),
        };
        let Some(role) = role else {
            let reason = format!("unknown role {:?} of a message", self.role);
            let mut error = RenderError::new(ErrorKind::Execution, reason);
            let help = "roles are system, developer, user, assistant (or model), tool";
            error.help = Some(help.to_owned());
            return Err(error.into());
        };
        let parts: Vec<ContentPart> = self.parts.into_iter().filter_map(content).collect();
        Ok(Message::new(role, parts))
    }
}

/// Converts a part. An unfilled position gives `None`.
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
