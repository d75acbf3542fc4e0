//! Errors of operations on definitions.

use quillet_core::history::{Labels, Version};
use quillet_core::store::{EntryKey, EntryKind, StoreError};
use quillet_core::{Diagnostic, ErrorCode, nearest};

use super::Permission;

/// Error of an operation on definitions.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DefinitionError {
    /// The store failed, or the definition was changed concurrently.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store keeps no history.
    #[error("{0} does not keep a history of its definitions")]
    NoHistory(String),
    /// The text is not a valid id.
    #[error("invalid id {0:?}: use dot-separated names, such as greet.hello")]
    Id(String),
    /// The text is not a valid label or version selector.
    #[error("invalid version {text:?}: {why}")]
    Mark {
        /// The text.
        text: String,
        /// The problem.
        why: String,
    },
    /// The label cannot be set.
    #[error("cannot set label {label:?}: {why}")]
    LabelName {
        /// Its name.
        label: String,
        /// The problem.
        why: String,
    },
    /// The stored labels of a definition are invalid.
    #[error("cannot read the labels of {id}: {why}")]
    Labels {
        /// The definition.
        id: String,
        /// The problem.
        why: String,
    },
    /// The definition does not exist.
    #[error("{} {id:?} does not exist{}", .kind.name(), hint(.nearest.as_deref()))]
    NotFound {
        /// Its kind.
        kind: EntryKind,
        /// Its id.
        id: String,
        /// The nearest existing id.
        nearest: Option<String>,
    },
    /// The version does not exist.
    #[error("{id} has no version {wanted}{newest}")]
    Version {
        /// The definition.
        id: String,
        /// Its number or its digest.
        wanted: String,
        /// The newest version.
        newest: String,
    },
    /// The label does not exist.
    #[error("{id} has no label {label:?}{known}{}", hint(.nearest.as_deref()))]
    Label {
        /// The definition.
        id: String,
        /// The label.
        label: String,
        /// Existing labels.
        known: String,
        /// The nearest existing label.
        nearest: Option<String>,
    },
    /// The label is protected.
    #[error(
        "label {label} of {id} is protected: moving it requires the permission promote, which \
         {who} does not have"
    )]
    Protected {
        /// The definition.
        id: String,
        /// The label.
        label: String,
        /// The actor.
        who: String,
    },
    /// The actor lacks a permission.
    #[error("{who} does not have the permission {} for {} {id}", .right.name(), .kind.name())]
    Forbidden {
        /// The actor.
        who: String,
        /// The required permission.
        right: Permission,
        /// The kind of the definition.
        kind: EntryKind,
        /// The definition.
        id: String,
    },
    /// The definition is invalid.
    #[error("{} {id} is invalid and was not written: {}", .kind.name(), list(.diagnostics))]
    Broken {
        /// Its kind.
        kind: EntryKind,
        /// Its id.
        id: String,
        /// Its diagnostics.
        diagnostics: Vec<Diagnostic>,
    },
    /// A file of histories cannot be read.
    #[error("line {line}: {why}")]
    Import {
        /// The line, from 1.
        line: usize,
        /// The problem.
        why: String,
    },
}

impl DefinitionError {
    /// Stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            DefinitionError::Store(error) => error.kind.code(),
            DefinitionError::NoHistory(_) => ErrorCode::HistoryNone,
            DefinitionError::Id(_)
            | DefinitionError::Mark { .. }
            | DefinitionError::LabelName { .. } => ErrorCode::HistoryMark,
            DefinitionError::Labels { .. } => ErrorCode::StoreCorrupt,
            DefinitionError::NotFound { .. } => ErrorCode::NotFound,
            DefinitionError::Version { .. } => ErrorCode::HistoryVersion,
            DefinitionError::Label { .. } => ErrorCode::HistoryLabel,
            DefinitionError::Protected { .. } => ErrorCode::HistoryProtected,
            DefinitionError::Forbidden { .. } => ErrorCode::AuthForbidden,
            DefinitionError::Broken { .. } => ErrorCode::HistoryBroken,
            DefinitionError::Import { .. } => ErrorCode::HistoryImport,
        }
    }

    pub(super) fn version(key: &EntryKey, wanted: &str, newest: &[Version]) -> Self {
        DefinitionError::Version {
            id: key.id(),
            wanted: wanted.to_owned(),
            newest: newest
                .first()
                .map(|newest| format!("; the newest is {}", newest.number))
                .unwrap_or_default(),
        }
    }

    /// Returns the error for a label that a definition does not have.
    #[must_use]
    pub fn label(key: &EntryKey, label: &str, labels: &Labels) -> Self {
        let names = || labels.0.keys().map(String::as_str);
        let known: Vec<&str> = names().collect();
        let known = match known.as_slice() {
            [] => String::new(),
            known => format!("; it has {}", known.join(", ")),
        };
        DefinitionError::Label {
            id: key.id(),
            label: label.to_owned(),
            known,
            nearest: nearest(label, names()).map(str::to_owned),
        }
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}

fn list(diagnostics: &[Diagnostic]) -> String {
    let all: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    all.join("; ")
}
