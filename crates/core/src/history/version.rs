//! Versions of a definition, and changes to a history.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{DefinitionContent, Digest, LabelTarget, Labels};
use crate::store::{EntryKey, EntryKind};

/// One immutable version of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Number, from 1, increasing by one for each version of this definition. Numbers are never
    /// reused.
    pub number: u64,
    /// Digest of its content. For a removal, the digest of the previous version.
    pub digest: Digest,
    /// Previous version; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// Author: the name of a token, a user of this machine, or [`STORE`](super::STORE).
    pub author: Arc<str>,
    /// Commit message; may be empty.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub message: Arc<str>,
    /// Creation time in milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
    /// Total size of its texts in bytes.
    pub bytes: u64,
    /// Whether the definition was removed. Such a version has no content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// A version and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The version.
    pub version: Version,
    /// Its content; `None` for a removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<DefinitionContent>,
}

/// Precondition of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WritePrecondition {
    /// No precondition.
    #[default]
    Anything,
    /// The definition does not exist.
    Absent,
    /// The newest version has this number, and the definition is that version.
    Version(u64),
    /// The definition has this digest.
    Digest(Digest),
}

/// A write of a definition.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Its kind, which must not be [`EntryKind::Environ`] or [`EntryKind::Label`].
    pub kind: EntryKind,
    /// Its key.
    pub key: EntryKey,
    /// New content; `None` removes the definition and all of its labels.
    pub content: Option<DefinitionContent>,
    /// Author.
    pub author: Arc<str>,
    /// Commit message.
    pub message: Arc<str>,
    /// Required current state.
    pub expect: WritePrecondition,
    /// Whether unchanged content also becomes a version.
    pub always: bool,
    /// Labels that are moved to the new version.
    pub labels: Vec<String>,
}

impl Commit {
    /// Creates a commit without a precondition.
    pub fn new(
        kind: EntryKind,
        key: EntryKey,
        content: Option<DefinitionContent>,
        author: &str,
    ) -> Self {
        Commit {
            kind,
            key,
            content,
            author: author.into(),
            message: "".into(),
            expect: WritePrecondition::Anything,
            always: false,
            labels: Vec::new(),
        }
    }
}

/// Result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitResult {
    /// The newest version after the commit.
    pub version: Version,
    /// Whether this commit created the version; `false` if the content was unchanged.
    pub is_new: bool,
    /// All labels of the definition after the commit.
    pub labels: Labels,
}

/// A move of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelMove {
    /// Its name.
    pub name: String,
    /// New target; `None` removes the label.
    pub to: Option<LabelTarget>,
    /// Expected current target; `None` accepts any target, and `Some(None)` requires that the label
    /// does not exist.
    pub expect: Option<Option<LabelTarget>>,
}

/// An exported history to import.
#[derive(Clone, Debug)]
pub struct HistoryImport {
    /// The kind of the definition.
    pub kind: EntryKind,
    /// Its key.
    pub key: EntryKey,
    /// Versions in the order of their numbers, which may have gaps.
    pub versions: Vec<VersionRecord>,
    /// Labels, which replace existing labels with the same names.
    pub labels: Labels,
}
