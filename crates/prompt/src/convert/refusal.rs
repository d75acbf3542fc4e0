//! Notes about parts that the other format cannot represent.

/// A part without a counterpart, with its location and the reason.
#[derive(Clone, Debug)]
pub(super) struct ConvertNote {
    /// Byte offset in the template, or a front matter key.
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
