//! Conversion of errors of SQLite and of files into [`DatabaseError`].

use std::path::Path;
use std::time::Duration;

use rusqlite::{Error, ErrorCode, ffi};

use crate::ConnectionUrl;
use crate::database::{DatabaseError, DatabaseErrorKind as Kind};

/// What SQLite says of names that are not there.
const UNKNOWN: [&str; 6] = [
    "no such table",
    "no such column",
    "no such function",
    "no such collation",
    "no such module",
    "ambiguous column name",
];
/// What SQLite says where one of its limits is met; it has no code of its own for most.
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

/// What helps where a file is there and cannot be opened.
const WRITE_AHEAD: &str = "the file must be readable; a file in write-ahead mode also needs a writable \
     folder, or `PRAGMA journal_mode = DELETE` from its owner";

/// An error that SQLite gave.
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

/// SQLite's own error, which rusqlite does not give out where it knows the place.
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

/// The kind of an error that has no code of its own, by its words.
fn kind_by_message(error: &Error) -> Kind {
    let words = words(error);
    let says = |said: &&str| words.contains(*said);
    if UNKNOWN.iter().any(says) {
        return Kind::UnknownName;
    }
    if LIMITS.iter().any(says) {
        return Kind::Limit;
    }
    // What has a place was found while the text was read, everything else while it ran.
    let syntax = ["syntax error", "incomplete input", "unrecognized token"];
    match error {
        Error::SqlInputError { .. } => Kind::Syntax,
        _ if syntax.iter().any(says) => Kind::Syntax,
        _ => Kind::Failed,
    }
}

/// What SQLite said, without the query, which rusqlite repeats.
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

/// The address names no file.
pub(super) fn no_file(url: &ConnectionUrl) -> DatabaseError {
    DatabaseError::new(
        Kind::Unreachable,
        format!("missing file in {url}: write sqlite:path/to/file.db"),
    )
}

/// The file is missing or not accessible.
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

/// A folder, a pipe or a device.
pub(super) fn no_regular_file(path: &Path) -> DatabaseError {
    DatabaseError::new(
        Kind::Unreachable,
        format!(
            "{} is not a file: name the SQLite file itself, such as sqlite:path/to/file.db",
            path.display()
        ),
    )
}

/// The time is up.
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

/// The thread that did the work has ended without a result.
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
