//! `<message role="user">…</message>` in literal text.

use std::borrow::Cow;

use super::message::ChatMessage;

/// Marks the tags in the literal texts of one template, which come in their
/// order; a tag may begin in one and end in another.
#[derive(Debug, Default)]
pub struct Elements {}

impl Elements {
    /// The text with its tags marked.
    pub fn mark<'t>(&mut self, literal: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(literal)
    }
}

/// The messages of a text with marked tags.
pub(super) fn messages(_text: &str) -> Option<Vec<ChatMessage>> {
    None
}
