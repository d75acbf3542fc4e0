//! Message structure that the template's own text gives, and that data cannot
//! forge.
//!
//! What is structure is known when a template is compiled: a `<message>` tag in
//! its literal text, a line `system:`, a helper such as `{{role "system"}}`.
//! There it is marked with a secret of this process, and after the render only
//! what carries the secret divides the text into messages. So values need no
//! encoding, in any format. The marks never leave: [`crate::Rendered`] takes
//! them out of texts, and calls see their arguments without them.

mod conversation;
mod directive;
mod element_reader;
mod elements;
pub(crate) mod entity;
mod line_template;
mod message;
mod role_lines;
mod secret;
mod strict;

pub use directive::{Directive, attachment, history, media, role, section, thread};
pub use elements::Elements;
pub(crate) use line_template::compile as compile_with_role_lines;
pub use message::{ChatMessage, MessagePart};
pub use role_lines::{computed_role_line, has_role_lines, parse_role_lines, role_names};
pub(crate) use secret::{has_marks, strip, strip_value, unmarked};
pub use strict::check_strict;

/// How a template's own text says where messages begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MessageSyntax {
    /// It does not: the text is one message. Helpers of a format may still
    /// write structure.
    #[default]
    Plain,
    /// `<message role="user">…</message>`, as Semantic Kernel has it.
    Elements,
    /// `system:` or `user[name="Ann"]:` on a line of its own, as prompty has it.
    RoleLines,
}

/// Whether a text has marks of structure in it.
pub(crate) fn is_marked(text: &str) -> bool {
    secret::existing().is_some_and(|secret| text.contains(secret))
}

/// Divides a rendered text into messages. `None` if there is no structure in it.
///
/// `history` stands where the template says so; if it says nothing, before
/// the last message of a user (dotprompt's rule).
#[must_use]
pub(crate) fn messages(text: &str, history: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
    let secret = secret::existing()?;
    if !text.contains(secret) {
        return None;
    }
    if let Some(messages) = role_lines::messages(text) {
        return Some(messages);
    }
    if directive::any(text) {
        return Some(directive::messages(text, history));
    }
    element_reader::messages(text)
}

/// A text without structure as messages: one of the user, after `history`.
#[must_use]
pub(crate) fn plain(text: String, history: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut messages = Vec::new();
    if !text.trim().is_empty() {
        messages.push(ChatMessage::text("user", text));
    }
    directive::with_history(messages, history)
}
