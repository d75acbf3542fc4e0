//! Converts errors of SQLite and of files into [`DatabaseError`].

use std::path::Path;
use std::time::Duration;

use rusqlite::{Error, ErrorCode, ffi};

use crate::ConnectionUrl;
use crate::database::{DatabaseError, DatabaseErrorKind as Kind};

/// Prefixes of SQLite's messages about unknown names.
const UNKNOWN: [&str; 6] = [
    "no such table",
    "no such column",
    "no such function",
    "no such collation",
    "no such module",
    "ambiguous column name",
];
/// SQLite's messages about its limits, most of which do not have an error code of their own.
const LIMITS: [&str; 8] = [
    "too many",
    "too large",
    "too big",
    "too long",
    "too complex",
    "parser stack overflow",
    "Recursion limit",
    "at most",
];

/// Hint for an existing file that cannot be opened.
const WRITE_AHEAD: &str = "the file must be readable; a file in write-ahead mode also needs a writable \
     folder, or `PRAGMA journal_mode = DELETE` from its owner";

/// Converts an SQLite error.
pub(super) fn from_sqlite(path: &Path, time: Duration, error: &Error) -> DatabaseError {
    let native = native(error);
    let code = native.map(|native| native.code);
    if code == Some(ErrorCode::OperationInterrupted) {
        return too_long(time);
    }
    let kind = match (code, error) {
        (_, Error::Utf8Error(..)) => Kind::Unreachable,
        (Some(code), _) => kind(code, error),
        (None, _) => Kind::Failed,
    };
    let mut fault = DatabaseError::new(kind, full_message(path, kind, error));
    fault.native_code = native.map(|native| native.extended_code.to_string());
    if code == Some(ErrorCode::CannotOpen) {
        fault.hint = Some(WRITE_AHEAD.to_owned());
    }
    if let Error::SqlInputError { offset, .. } = error {
        fault.position = usize::try_from(*offset).ok();
    }
    fault
}

/// Returns SQLite's own error, which rusqlite hides if it knows the position.
fn native(error: &Error) -> Option<ffi::Error> {
    match error {
        Error::SqliteFailure(native, _) => Some(*native),
        Error::SqlInputError { error, .. } => Some(*error),
        _ => None,
    }
}

fn kind(code: ErrorCode, error: &Error) -> Kind {
    match code {
        ErrorCode::CannotOpen
        | ErrorCode::DatabaseCorrupt
        | ErrorCode::NotADatabase
        | ErrorCode::SystemIoFailure
        | ErrorCode::FileLockingProtocolFailed => Kind::Unreachable,
        ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => Kind::Denied,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Kind::Timeout,
        ErrorCode::ReadOnly => Kind::ReadOnly,
        ErrorCode::TooBig | ErrorCode::OutOfMemory | ErrorCode::DiskFull => Kind::Limit,
        ErrorCode::Unknown => kind_by_message(error),
        _ => Kind::Failed,
    }
}

/// Returns the kind of an error without a specific code, by its message.
fn kind_by_message(error: &Error) -> Kind {
    let words = words(error);
    let says = |said: &&str| words.contains(*said);
    if UNKNOWN.iter().any(says) {
        return Kind::UnknownName;
    }
    if LIMITS.iter().any(says) {
        return Kind::Limit;
    }
    // An error with a position was found while parsing, any other at run time.
    let syntax = ["syntax error", "incomplete input", "unrecognized token"];
    match error {
        Error::SqlInputError { .. } => Kind::Syntax,
        _ if syntax.iter().any(says) => Kind::Syntax,
        _ => Kind::Failed,
    }
}

/// Returns SQLite's message without the query that rusqlite appends.
fn words(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } => msg.clone(),
        Error::SqliteFailure(_, Some(said)) => said.clone(),
        Error::Utf8Error(..) => "its schema has names that are not UTF-8".to_owned(),
        other => other.to_string(),
    }
}

fn full_message(path: &Path, kind: Kind, error: &Error) -> String {
    let words = words(error);
    match kind {
        Kind::Unreachable => format!("cannot read the SQLite file {}: {words}", path.display()),
        Kind::Timeout => format!(
            "the SQLite file {} is locked by another process: {words}; try again later",
            path.display()
        ),
        _ => words,
    }
}

/// Returns the error for a URL without a file.
pub(super) fn no_file(url: &ConnectionUrl) -> DatabaseError {
    DatabaseError::new(
        Kind::Unreachable,
        format!("missing file in {url}: write sqlite:path/to/file.db"),
    )
}

/// Returns the error for a missing or inaccessible file.
pub(super) fn missing(path: &Path, error: &std::io::Error) -> DatabaseError {
    let mut fault = DatabaseError::new(
        Kind::Unreachable,
        format!("cannot open the SQLite file {}: {error}", path.display()),
    );
    let hint = "name an existing, readable file; a relative path starts in the working \
                directory of the program";
    fault.hint = Some(hint.to_owned());
    fault
}

/// Returns the error for a directory, a pipe or a device.
pub(super) fn no_regular_file(path: &Path) -> DatabaseError {
    DatabaseError::new(
        Kind::Unreachable,
        format!(
            "{} is not a file: name the SQLite file itself, such as sqlite:path/to/file.db",
            path.display()
        ),
    )
}

/// Returns the error for an exceeded time limit.
pub(super) fn too_long(time: Duration) -> DatabaseError {
    let mut fault = DatabaseError::new(
        Kind::Timeout,
        format!(
            "timeout: the query took longer than {} s",
            time.as_secs_f64()
        ),
    );
    fault.hint = Some("query less data, or allow more time".to_owned());
    fault
}

/// Returns the error for a worker thread that ended without a result.
pub(super) fn task_error(path: &Path, error: &tokio::task::JoinError) -> DatabaseError {
    let reason = if error.is_panic() {
        "the file is damaged"
    } else {
        "the program is shutting down"
    };
    DatabaseError::new(
        Kind::Failed,
        format!(
            "cannot finish reading the SQLite file {}: {reason}",
            path.display()
        ),
    )
}
