//! Errors of stores.

use crate::ErrorCode;
use crate::build::FeatureDisabled;

/// The kind of a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The store is unreachable.
    Unavailable,
    /// The store rejected the operation: permissions, read-only, full.
    Refused,
    /// Invalid address or setting.
    Configuration,
    /// Invalid stored data.
    Corrupt,
    /// Disabled in this build.
    Missing,
    /// A precondition failed, because another writer was first.
    Conflict,
    /// Unknown version.
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
///
/// # Examples
///
/// ```
/// use quillet_core::store::{StoreError, StoreErrorKind};
///
/// let error = StoreError::new(StoreErrorKind::Conflict, "another writer was first");
/// assert_eq!(error.kind.code().as_str(), "history.conflict");
/// assert_eq!(error.to_string(), "another writer was first");
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// Kind of the failure.
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
    /// Creates an error.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        StoreError {
            kind,
            message: message.into(),
        }
    }
}
