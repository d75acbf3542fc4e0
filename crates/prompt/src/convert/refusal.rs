//! What has no counterpart in the other format.

/// What has no counterpart: where, and why.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// Byte in the template, or a key of the front matter.
    pub(super) at: At,
    pub(super) reason: String,
}

#[derive(Clone, Debug)]
pub(super) enum At {
    Template(usize),
    Key(String),
}

impl Refusal {
    pub(super) fn key(key: &str, reason: impl Into<String>) -> Self {
        Refusal {
            at: At::Key(key.to_owned()),
            reason: reason.into(),
        }
    }

    pub(super) fn template(byte: usize, reason: impl Into<String>) -> Self {
        Refusal {
            at: At::Template(byte),
            reason: reason.into(),
        }
    }
}
