//! Versions of a definition, and changes to a history.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{DefinitionContent, Digest, LabelTarget, Labels};
use crate::store::{EntryKey, EntryKind};

/// One version of a definition. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// From 1, one more for each version of this definition; never given twice.
    pub number: u64,
    /// Digest of its content; of a removal: that of the previous version.
    pub digest: Digest,
    /// The version that it was made from; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// Who made it: the name of a token, a user of this machine, or [`STORE`](super::STORE).
    pub author: Arc<str>,
    /// Commit message; may be empty.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub message: Arc<str>,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
    /// Bytes of its texts.
    pub bytes: u64,
    /// Whether the definition was removed: such a version holds nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// A version with its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The version.
    pub version: Version,
    /// What it holds; `None` of a removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<DefinitionContent>,
}

/// Precondition of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WritePrecondition {
    /// Nothing.
    #[default]
    Anything,
    /// There is no such definition.
    Absent,
    /// The newest version has this number, and the definition is that version.
    Version(u64),
    /// The definition has this digest.
    Digest(Digest),
}

/// A write of a definition.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Its kind, which is no [`EntryKind::Environ`] and no [`EntryKind::Label`].
    pub kind: EntryKind,
    /// Its key.
    pub key: EntryKey,
    /// What it becomes; `None` removes it with all of its labels.
    pub content: Option<DefinitionContent>,
    /// Who writes.
    pub author: Arc<str>,
    /// Why.
    pub message: Arc<str>,
    /// Required current state.
    pub expect: WritePrecondition,
    /// Whether a definition that is the same as the newest version becomes a version, too.
    pub always: bool,
    /// Labels that are moved to the new version.
    pub labels: Vec<String>,
}

impl Commit {
    /// A definition that is written whatever is there.
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
    /// The newest version now.
    pub version: Version,
    /// Whether this commit made it; `false` where the definition was the same before.
    pub is_new: bool,
    /// All labels of the definition now.
    pub labels: Labels,
}

/// A move of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelMove {
    /// Its name.
    pub name: String,
    /// Where it goes; `None` takes it away.
    pub to: Option<LabelTarget>,
    /// Where it has to be now; `None` where that does not matter, `Some(None)` where it must not be.
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
    /// Labels, in place of those that there are under these names.
    pub labels: Labels,
}
