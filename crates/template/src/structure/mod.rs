//! Message structure that the template's own text gives, and that data cannot
//! forge.
//!
//! What is structure is known when a template is compiled: a `<message>` tag in
//! its literal text, a line `system:`, a helper such as `{{role "system"}}`.
//! There it is marked with a secret of this process, and after the render only
//! what carries the secret divides the text into messages. So values need no
//! encoding, in any format. The marks never leave: [`crate::Rendered`] takes
//! them out of texts, and calls see their arguments without them.

mod directive;
mod element_reader;
mod elements;
mod entity;
mod message;
mod secret;

pub use directive::{Directive, history, media, role, section};
pub use elements::Elements;
pub use message::{ChatMessage, Part};
pub(crate) use secret::{strip, strip_value};

/// How a template's own text says where messages begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MessageSyntax {
    /// It does not: the text is one message. Helpers of a format may still
    /// write structure.
    #[default]
    Plain,
    /// `<message role="user">…</message>`, as Semantic Kernel has it.
    Elements,
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
    if directive::any(text) {
        return Some(directive::messages(text, history));
    }
    element_reader::messages(text)
}
