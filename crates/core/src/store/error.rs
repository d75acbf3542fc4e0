//! Why a store did not do what it was asked.

use crate::ErrorCode;
use crate::build::FeatureDisabled;

/// The kind of a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// It cannot be reached.
    Unavailable,
    /// It refused: rights, read-only, full.
    Refused,
    /// The address or a setting is wrong.
    Configuration,
    /// What is stored there is not what it should be.
    Corrupt,
    /// This build cannot speak to it.
    Missing,
    /// Something is not what the writer took for granted: somebody else was first.
    Conflict,
    /// There is no version of that number.
    NoVersion,
}

impl StoreErrorKind {
    /// Stable code, as in error bodies.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            StoreErrorKind::Unavailable => ErrorCode::StoreUnavailable,
            StoreErrorKind::Refused => ErrorCode::StoreRefused,
            StoreErrorKind::Configuration => ErrorCode::StoreConfiguration,
            StoreErrorKind::Corrupt => ErrorCode::StoreCorrupt,
            StoreErrorKind::Missing => ErrorCode::FeatureMissing,
            StoreErrorKind::Conflict => ErrorCode::HistoryConflict,
            StoreErrorKind::NoVersion => ErrorCode::HistoryVersion,
        }
    }
}

/// The error of a store.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// What kind of failure it was.
    pub kind: StoreErrorKind,
    /// The store, the cause and the fix.
    pub message: String,
}

impl From<FeatureDisabled> for StoreError {
    fn from(missing: FeatureDisabled) -> Self {
        StoreError::new(StoreErrorKind::Missing, missing.to_string())
    }
}

impl StoreError {
    /// An error of this kind.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        StoreError {
            kind,
            message: message.into(),
        }
    }
}
