//! Why something about a definition was not done.

use quillet_core::history::{Labels, Version};
use quillet_core::store::{EntryKey, EntryKind, StoreError};
use quillet_core::{Diagnostic, ErrorCode, nearest};

use super::Permission;

/// The error of an operation on definitions.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DefinitionError {
    /// The store failed, or somebody else has written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store keeps no history.
    #[error("{0} keeps no history of its definitions")]
    NoHistory(String),
    /// The text is no id.
    #[error("{0:?} is no id: names joined by dots, such as greet.hello, are")]
    Id(String),
    /// The text is no label, or a mark cannot be read.
    #[error("{text:?} names no version: {why}")]
    Mark {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A label of that name, or at that place, cannot be set.
    #[error("label {label:?} cannot be set: {why}")]
    LabelName {
        /// Its name.
        label: String,
        /// What is wrong with it.
        why: String,
    },
    /// What is stored as the labels of a definition is none.
    #[error("the labels of {id} cannot be read: {why}")]
    Labels {
        /// The definition.
        id: String,
        /// What is wrong with them.
        why: String,
    },
    /// There is no such definition.
    #[error("{} {id:?} does not exist{}", .kind.name(), hint(.nearest.as_deref()))]
    NotFound {
        /// Its kind.
        kind: EntryKind,
        /// Its id.
        id: String,
        /// The nearest id that there is.
        nearest: Option<String>,
    },
    /// There is no such version.
    #[error("{id} has no version {wanted}{newest}")]
    Version {
        /// The definition.
        id: String,
        /// Its number, or its digest.
        wanted: String,
        /// What there is.
        newest: String,
    },
    /// There is no such label.
    #[error("{id} has no label {label:?}{known}{}", hint(.nearest.as_deref()))]
    Label {
        /// The definition.
        id: String,
        /// The label.
        label: String,
        /// Those that there are.
        known: String,
        /// The nearest of them.
        nearest: Option<String>,
    },
    /// The label is protected.
    #[error(
        "label {label} of {id} is protected: moving it needs the right promote, which {who} does not have"
    )]
    Protected {
        /// The definition.
        id: String,
        /// The label.
        label: String,
        /// Who tried.
        who: String,
    },
    /// The right is missing.
    #[error("{who} does not have the right {} for {} {id}", .right.name(), .kind.name())]
    Forbidden {
        /// Who tried.
        who: String,
        /// The right that is needed.
        right: Permission,
        /// The kind of the definition.
        kind: EntryKind,
        /// The definition.
        id: String,
    },
    /// The definition is broken.
    #[error("{} {id} is broken and was not written: {}", .kind.name(), list(.diagnostics))]
    Broken {
        /// Its kind.
        kind: EntryKind,
        /// Its id.
        id: String,
        /// Everything that is wrong with it.
        diagnostics: Vec<Diagnostic>,
    },
    /// A file of histories cannot be read.
    #[error("line {line}: {why}")]
    Import {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
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

    /// That a definition with these labels has none of that name.
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
