//! What a render gave.

use quillet_core::Message;
use quillet_template::{ChatMessage, TextSegment};

use super::error::TemplateError;

/// What a render gave: a text, the messages in it, where its parts come from, and the calls that
/// failed on the way.
#[derive(Clone, Debug)]
pub struct RenderedTemplate {
    pub(super) inner: quillet_template::RenderedTemplate,
    pub(super) failed: Vec<FailedCall>,
}

/// A call of a function that failed, so that its default stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// The function.
    pub function: String,
    /// What it said.
    pub message: String,
}

impl RenderedTemplate {
    /// The text, as it is without regard to messages.
    #[must_use]
    pub fn text(&self) -> String {
        self.inner.text(0)
    }

    /// The text, when nothing else is wanted.
    #[must_use]
    pub fn into_text(self) -> String {
        self.inner.into_text()
    }

    /// The bytes of the text: a format whose strings are bytes (Go's) may have cut a character.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.inner.into_bytes().pop().unwrap_or_default()
    }

    /// The messages that the template's own text divides it into; a text without such structure is
    /// one message of the user, a blank one none.
    ///
    /// # Errors
    /// A message has a role that no model knows.
    pub fn messages(&self) -> Result<Vec<Message>, TemplateError> {
        let messages = self.inner.conversation(0, &[]).into_iter();
        let messages = messages.map(ChatMessage::into_message);
        Ok(messages.collect::<Result<_, _>>()?)
    }

    /// The text in pieces that say where they come from; empty unless the render was begun with
    /// [`Template::segments`](super::Template::segments) or
    /// [`Template::begin_segments`](super::Template::begin_segments).
    #[must_use]
    pub fn segments(&self) -> Vec<TextSegment> {
        self.inner.segments(0)
    }

    /// The calls that failed, in the order in which they ended.
    #[must_use]
    pub fn failed_calls(&self) -> &[FailedCall] {
        &self.failed
    }
}
