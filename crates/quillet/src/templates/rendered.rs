//! Results of rendering.

use quillet_core::Message;
use quillet_template::{ChatMessage, TextSegment};

use super::error::TemplateError;

/// Result of rendering: the text, its messages and segments, and the failed calls.
#[derive(Clone, Debug)]
pub struct RenderedTemplate {
    pub(super) inner: quillet_template::RenderedTemplate,
    pub(super) failed: Vec<FailedCall>,
}

/// A failed function call; the text contains the function's fallback value instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// Name of the function.
    pub function: String,
    /// Error message.
    pub message: String,
}

impl RenderedTemplate {
    /// Returns the text, regardless of messages.
    #[must_use]
    pub fn text(&self) -> String {
        self.inner.text(0)
    }

    /// Consumes the result and returns the text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.inner.into_text()
    }

    /// Returns the bytes of the text. Go strings are bytes, so a Go template may have split a
    /// character.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.inner.into_bytes().pop().unwrap_or_default()
    }

    /// Returns the messages marked in the template's own text. Text without marks is one user
    /// message, and blank text has no messages.
    ///
    /// # Errors
    /// A message has an unknown role.
    ///
    /// # Examples
    /// ```
    /// use quillet::core::Role;
    /// use quillet::{RenderStep, Template};
    ///
    /// let template = Template::new("jinja", "Hi {{ name }}")?;
    /// let mut rendering = template.begin([("name", "Ada")], vec![]);
    /// let RenderStep::Done(rendered) = rendering.step()? else {
    ///     unreachable!("the template calls no function");
    /// };
    /// let messages = rendered.messages()?;
    /// assert_eq!(messages[0].role, Role::User);
    /// assert_eq!(messages[0].content, "Hi Ada");
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    pub fn messages(&self) -> Result<Vec<Message>, TemplateError> {
        let messages = self.inner.conversation(0, &[]).into_iter();
        let messages = messages.map(ChatMessage::into_message);
        Ok(messages.collect::<Result<_, _>>()?)
    }

    /// Returns the segments of the text and their origins. Empty unless the rendering was started
    /// with [`Template::segments`](super::Template::segments) or
    /// [`Template::begin_segments`](super::Template::begin_segments).
    #[must_use]
    pub fn segments(&self) -> Vec<TextSegment> {
        self.inner.segments(0)
    }

    /// Returns the failed calls in the order in which they ended.
    ///
    /// ```
    /// use quillet::{Map, RenderStep, Template};
    ///
    /// let template = Template::new("jinja", "[{{ weather() }}]")?;
    /// let mut rendering = template.begin(Map::default(), vec!["weather".into()]);
    /// assert!(matches!(rendering.step()?, RenderStep::Waiting(_)));
    /// rendering.fail_calls("no network");
    /// let RenderStep::Done(rendered) = rendering.step()? else {
    ///     unreachable!("all calls have a result");
    /// };
    /// assert_eq!(rendered.text(), "[]");
    /// assert_eq!(rendered.failed_calls()[0].message, "no network");
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    #[must_use]
    pub fn failed_calls(&self) -> &[FailedCall] {
        &self.failed
    }
}
