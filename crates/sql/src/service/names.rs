//! Rules for connection names and page sizes.

use quillet_core::ErrorCode;

use crate::SqlError;

/// Maximum characters of a name.
const LENGTH: usize = 64;
/// Maximum records on a page, as in table-chat.
const PAGE: usize = 100;

/// Names are restricted because they become parts of paths, keys and function names.
pub(super) fn check(name: &str) -> Result<(), SqlError> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let first = name.chars().next();
    let good = first.is_some_and(char::is_alphanumeric)
        && name.chars().all(fits)
        && name.chars().count() <= LENGTH;
    if good {
        return Ok(());
    }
    Err(SqlError::Invalid {
        code: ErrorCode::SqlInvalidName,
        message: format!(
            "invalid database name {name:?}: use 1 to {LENGTH} letters, digits, '_', '-' and '.', starting with a letter or digit"
        ),
    })
}

pub(super) fn check_limit(limit: usize) -> Result<(), SqlError> {
    if (1..=PAGE).contains(&limit) {
        return Ok(());
    }
    Err(SqlError::Invalid {
        code: ErrorCode::SqlInvalidLimit,
        message: format!("invalid limit {limit}: must be 1 to {PAGE}"),
    })
}
