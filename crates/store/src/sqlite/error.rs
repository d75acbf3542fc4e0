//! Conversion of SQLite errors into store errors.

use quillet_core::store::{StoreError, StoreErrorKind};
use rusqlite::{Error, ErrorCode};

/// Error of an operation on the file.
pub(crate) fn of(path: &str, error: &Error) -> StoreError {
    let kind = match error {
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => StoreErrorKind::Corrupt,
        _ => error
            .sqlite_error_code()
            .map_or(StoreErrorKind::Unavailable, kind),
    };
    StoreError::new(kind, format!("sqlite file {path}: {error}{}", mend(kind)))
}

fn kind(code: ErrorCode) -> StoreErrorKind {
    match code {
        ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => StoreErrorKind::Corrupt,
        ErrorCode::CannotOpen => StoreErrorKind::Configuration,
        ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::DiskFull
        | ErrorCode::TooBig
        | ErrorCode::ConstraintViolation => StoreErrorKind::Refused,
        _ => StoreErrorKind::Unavailable,
    }
}

fn mend(kind: StoreErrorKind) -> &'static str {
    match kind {
        StoreErrorKind::Corrupt => "; move it away, and a new one is created",
        StoreErrorKind::Configuration => "; its folder must exist and be writable",
        _ => "",
    }
}

/// Error for a database thread that has ended.
pub(crate) fn lost(path: &str, why: &str) -> StoreError {
    let message = format!("sqlite file {path}: {why}");
    StoreError::new(StoreErrorKind::Unavailable, message)
}

/// Error for a file of a newer version of this program.
pub(crate) fn newer(path: &str, part: &str, found: usize, known: usize) -> StoreError {
    let message = format!(
        "sqlite file {path}: its {part} have version {found}, and this program supports versions up to {known}; use a newer program or another file"
    );
    StoreError::new(StoreErrorKind::Configuration, message)
}
