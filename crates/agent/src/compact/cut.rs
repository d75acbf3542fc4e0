//! Cuts long texts of a message.

use quillet_core::{ContentPart, Message, MessageContent, Role};

use super::attachment;
use super::shorten::shorten;

/// Kind of text to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutTarget {
    Attachments,
    Texts,
}

/// Maximum characters per kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageCaps {
    pub(super) attachments: usize,
    pub(super) texts: usize,
}

impl MessageCaps {
    pub(super) const NONE: MessageCaps = MessageCaps {
        attachments: usize::MAX,
        texts: usize::MAX,
    };

    /// Lowers the limit of one kind of text.
    pub(super) fn lowered(self, piece: CutTarget, level: usize) -> Self {
        match piece {
            CutTarget::Attachments => MessageCaps {
                attachments: level.min(self.attachments),
                ..self
            },
            CutTarget::Texts => MessageCaps {
                texts: level.min(self.texts),
                ..self
            },
        }
    }

    /// Returns these limits with one kind replaced by that of `other`.
    pub(super) fn with(self, other: MessageCaps, piece: CutTarget) -> Self {
        match piece {
            CutTarget::Attachments => MessageCaps {
                texts: other.texts,
                ..self
            },
            CutTarget::Texts => MessageCaps {
                attachments: other.attachments,
                ..self
            },
        }
    }
}

/// Returns the message with its long texts cut, and the number of removed attachment characters.
/// The message is `None` if all texts are short enough.
pub(super) fn cut(whole: &Message, caps: MessageCaps) -> (Option<Message>, usize) {
    // Byte lengths are upper bounds of character counts, so most messages are not copied.
    let most = match whole.role {
        Role::User => caps.attachments.min(caps.texts),
        _ => caps.texts,
    };
    let long = |text: &str| text.len() > most;
    if !texts(whole)
        .into_iter()
        .chain(whole.reasoning.as_deref())
        .any(long)
    {
        return (None, 0);
    }
    let mut message = whole.clone();
    let mut missing = 0;
    let mut changed = false;
    for text in texts_mut(&mut message.content) {
        // Only user messages contain attachments of front ends.
        if whole.role == Role::User
            && let Some((short, characters)) = attachment::cut(text, caps.attachments)
        {
            (*text, changed) = (short, true);
            missing += characters;
        }
        if let Some((short, _)) = shorten(text, caps.texts) {
            (*text, changed) = (short, true);
        }
    }
    // Reasoning is removed as a whole: partial reasoning is useless, and providers verify it.
    if message
        .reasoning
        .as_ref()
        .is_some_and(|text| text.len() > caps.texts)
    {
        (message.reasoning, changed) = (None, true);
    }
    if !changed {
        return (None, 0);
    }
    // The provider's own form still contains the full text.
    message.native = None;
    (Some(message), missing)
}

fn texts_mut(content: &mut MessageContent) -> Vec<&mut String> {
    match content {
        MessageContent::Text(text) => vec![text],
        MessageContent::Parts(parts) => parts
            .iter_mut()
            .filter_map(|part| match part {
                ContentPart::Text { text } => Some(text),
                _ => None,
            })
            .collect(),
    }
}

/// Returns the texts of a message.
pub(super) fn texts(message: &Message) -> Vec<&str> {
    match &message.content {
        MessageContent::Text(text) => vec![text],
        MessageContent::Parts(parts) => parts
            .iter()
            .filter_map(|part| match part {
                ContentPart::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect(),
    }
}
