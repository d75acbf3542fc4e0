//! Converts PostgreSQL errors into [`DatabaseError`].

use tokio_postgres::error::{DbError, ErrorPosition, SqlState};

use super::server::PostgresServer;
use crate::{DatabaseError, DatabaseErrorKind as Kind};

/// Converts the error of a statement that ran as `sent`, in which the caller's text starts at byte
/// `start`.
pub(super) fn of_query(error: &tokio_postgres::Error, sent: &str, start: usize) -> DatabaseError {
    let mut result = of(error);
    if let Some(ErrorPosition::Original(character)) =
        error.as_db_error().and_then(DbError::position)
    {
        let byte = byte_of(sent, *character);
        result.position = byte.and_then(|byte| byte.checked_sub(start));
    }
    result
}

/// Converts any other error.
pub(super) fn of(error: &tokio_postgres::Error) -> DatabaseError {
    let Some(db) = error.as_db_error() else {
        return DatabaseError::new(Kind::Unreachable, with_causes(error));
    };
    DatabaseError {
        kind: kind(db.code()),
        message: db.message().to_owned(),
        native_code: Some(db.code().code().to_owned()),
        position: None,
        hint: db.hint().map(str::to_owned),
    }
}

/// SQLSTATE for an unknown database.
pub(super) const NO_DATABASE: &str = "3D000";

/// Converts the error of a failed connection, with its address, its reason and a hint.
pub(super) fn at_connect(error: &tokio_postgres::Error, server: &PostgresServer) -> DatabaseError {
    let shown = &server.shown;
    let user = server.config.get_user().unwrap_or_default();
    if error.as_db_error().is_none() {
        let cause = with_causes(error);
        if server.config.get_password().is_none() && cause.contains("password missing") {
            let message = format!("{shown}: missing password for {user:?}");
            return DatabaseError {
                hint: Some("add it to the address: postgresql://USER:PASSWORD@HOST/NAME, special characters as %XX".to_owned()),
                ..DatabaseError::new(Kind::Denied, message)
            };
        }
        let hint = cause.contains("does not support TLS").then(|| {
            "this server has no TLS: append ?sslmode=prefer or ?sslmode=disable to the address"
                .to_owned()
        });
        let message = format!("{shown} cannot be reached: {cause}");
        return DatabaseError {
            hint,
            ..DatabaseError::new(Kind::Unreachable, message)
        };
    }
    let error = of(error);
    let hint = match error.native_code.as_deref() {
        Some("28P01") => Some("wrong user or password".to_owned()),
        Some("28000") if error.message.contains("no encryption") => Some(
            "the server requires TLS or rejects this user from this host (pg_hba.conf); try ?sslmode=require".to_owned(),
        ),
        Some("28000") => Some("the server rejects this user from this host (pg_hba.conf)".to_owned()),
        _ => None,
    };
    DatabaseError {
        message: format!("{shown}: {}", error.message),
        hint: error.hint.or(hint),
        ..error
    }
}

/// Returns the kind of an SQLSTATE, by its class where that is specific enough (PostgreSQL
/// documentation, appendix A).
fn kind(code: &SqlState) -> Kind {
    match code.code() {
        "42501" => Kind::Denied,
        "42P01" | "42703" | "42883" | "42704" | "42P02" | "3F000" => Kind::UnknownName,
        "25006" => Kind::ReadOnly,
        // These codes mean: query cancelled, lock not available, and idle for too long.
        "57014" | "55P03" | "25P03" => Kind::Timeout,
        // This code means too many connections of the server, a role or a database.
        "53300" => Kind::Limit,
        "3D000" => Kind::Unreachable,
        other => match other.get(..2) {
            Some("28") => Kind::Denied,
            Some("42") => Kind::Syntax,
            Some("53" | "54") => Kind::Limit,
            Some("08" | "57") => Kind::Unreachable,
            _ => Kind::Failed,
        },
    }
}

/// Formats an error with its causes, which the library reports separately.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = error.source();
    }
    message
}

/// Returns the byte offset of a character; PostgreSQL counts characters from 1.
fn byte_of(text: &str, character: u32) -> Option<usize> {
    let index = usize::try_from(character).ok()?.checked_sub(1)?;
    let mut starts = text.char_indices().map(|(byte, _)| byte);
    starts.nth(index).or_else(|| {
        let is_end = text.chars().count() == index;
        is_end.then_some(text.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_become_bytes() {
        for (text, character, byte) in [
            ("abc", 1, Some(0)),
            ("abc", 4, Some(3)),
            ("abc", 5, None),
            ("abc", 0, None),
            ("a订单b", 3, Some(4)),
            ("a订单b", 4, Some(7)),
            ("", 1, Some(0)),
        ] {
            assert_eq!(byte_of(text, character), byte, "{text} {character}");
        }
    }

    #[test]
    fn codes_have_kinds() {
        for (code, expected) in [
            ("28P01", Kind::Denied),
            ("42501", Kind::Denied),
            ("42601", Kind::Syntax),
            ("42803", Kind::Syntax),
            ("42P01", Kind::UnknownName),
            ("57014", Kind::Timeout),
            ("55P03", Kind::Timeout),
            ("57P01", Kind::Unreachable),
            ("25006", Kind::ReadOnly),
            ("54001", Kind::Limit),
            ("22012", Kind::Failed),
        ] {
            assert_eq!(kind(&SqlState::from_code(code)), expected, "{code}");
        }
    }
}
