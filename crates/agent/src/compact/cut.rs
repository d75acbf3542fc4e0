//! A message with its long pieces cut.

use quillet_core::{ContentPart, Message, MessageContent, Role};

use super::attachment;
use super::shorten::shorten;

/// What of a message is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutTarget {
    Attachments,
    Texts,
}

/// The characters that the pieces of a message may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caps {
    pub(super) attachments: usize,
    pub(super) texts: usize,
}

impl Caps {
    pub(super) const NONE: Caps = Caps {
        attachments: usize::MAX,
        texts: usize::MAX,
    };

    /// These; a piece cut to a lower level.
    pub(super) fn lowered(self, piece: CutTarget, level: usize) -> Self {
        match piece {
            CutTarget::Attachments => Caps {
                attachments: level.min(self.attachments),
                ..self
            },
            CutTarget::Texts => Caps {
                texts: level.min(self.texts),
                ..self
            },
        }
    }

    /// These; the other piece's as in `other`.
    pub(super) fn with(self, other: Caps, piece: CutTarget) -> Self {
        match piece {
            CutTarget::Attachments => Caps {
                texts: other.texts,
                ..self
            },
            CutTarget::Texts => Caps {
                attachments: other.attachments,
                ..self
            },
        }
    }
}

/// The message with its pieces cut, if any is too long, and how many characters of
/// attachments are missing.
pub(super) fn cut(whole: &Message, caps: Caps) -> (Option<Message>, usize) {
    // Bytes say at once that most messages are short enough: no copy is made.
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
        // Front ends put attachments into what a user says, and nowhere else.
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
    // What a model thought is of no use in part.
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

/// The texts of a message.
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
