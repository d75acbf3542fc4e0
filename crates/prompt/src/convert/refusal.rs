//! What has no counterpart in the other format.

/// What has no counterpart: where, and why.
#[derive(Clone, Debug)]
pub(super) struct ConvertNote {
    /// Byte in the template, or a key of the front matter.
    pub(super) at: NoteLocation,
    pub(super) reason: String,
}

#[derive(Clone, Debug)]
pub(super) enum NoteLocation {
    Template(usize),
    Key(String),
}

impl ConvertNote {
    pub(super) fn key(key: &str, reason: impl Into<String>) -> Self {
        ConvertNote {
            at: NoteLocation::Key(key.to_owned()),
            reason: reason.into(),
        }
    }

    pub(super) fn template(byte: usize, reason: impl Into<String>) -> Self {
        ConvertNote {
            at: NoteLocation::Template(byte),
            reason: reason.into(),
        }
    }
}
