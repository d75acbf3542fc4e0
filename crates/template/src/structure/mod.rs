//! Message structure that only the template's own text can define, so data cannot forge it.
//!
//! Structure is found when a template is compiled: a `<message>` tag in its literal text, a line
//! `system:`, or a helper such as `{{role "system"}}`. The compiler marks it with a secret of the
//! process. After the render, only marked text divides the output into messages, so values need no
//! encoding in any format. Marks never leave the engine: [`crate::RenderedTemplate`] removes them
//! from texts, and calls receive their arguments without marks.

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

/// Syntax that defines where messages start and end in a template's own text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MessageSyntax {
    /// No syntax. The text is one message, unless helpers of the format write structure.
    #[default]
    Plain,
    /// `<message role="user">…</message>`, as in Semantic Kernel.
    Elements,
    /// `system:` or `user[name="Ann"]:` on a separate line, as in prompty.
    RoleLines,
}

/// Whether a text contains marks of structure.
pub(crate) fn is_marked(text: &str) -> bool {
    secret::existing().is_some_and(|secret| text.contains(secret))
}

/// Splits a rendered text into messages. Returns `None` if it has no structure.
///
/// The history is inserted where the template requests it. By default it precedes the last user
/// message, as in dotprompt.
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

/// Converts a text without structure to messages: `history`, then one user message.
#[must_use]
pub(crate) fn plain(text: String, history: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut messages = Vec::new();
    if !text.trim().is_empty() {
        messages.push(ChatMessage::text("user", text));
    }
    directive::with_history(messages, history)
}
