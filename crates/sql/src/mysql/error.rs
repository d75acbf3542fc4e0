//! Converts MySQL errors: kinds from error numbers, positions from `near '…' at line N`.

use mysql_async::{DriverError, Error, ServerError};

use crate::connect_help::unreachable_hint;
use crate::{ConnectionUrl, DatabaseError, DatabaseErrorKind};

/// Maximum bytes of a query that the server repeats after `near`.
const NEAR: usize = 80;

/// Converts an error while connecting, with the server's message and its address.
pub(super) fn at_connect(error: &Error, url: &ConnectionUrl) -> DatabaseError {
    let Error::Server(said) = error else {
        let reason = match error {
            Error::Driver(DriverError::NoClientSslFlagFromServer) => {
                "the server has no TLS, which ssl-mode requires".to_owned()
            }
            other => match reason(other) {
                // The TLS library does not accept a CA certificate as a server certificate.
                said if said.contains("CaUsedAsEndEntity") => format!(
                    "{said}: its certificate belongs to a certificate authority, as created by openssl req -x509; give \
                     the server one that an authority signed, or create it with -addext \
                     basicConstraints=critical,CA:FALSE"
                ),
                said => said,
            },
        };
        let hint = match error {
            Error::Io(mysql_async::IoError::Io(error)) => {
                unreachable_hint(error, "MySQL", &url.host, url.port)
            }
            Error::Driver(DriverError::NoClientSslFlagFromServer) => {
                Some("append ?ssl-mode=preferred or ?ssl-mode=disabled to the address".to_owned())
            }
            _ => None,
        };
        return DatabaseError {
            hint,
            ..DatabaseError::new(
                DatabaseErrorKind::Unreachable,
                format!("{url} cannot be reached: {reason}"),
            )
        };
    };
    let kind = match kind(said.code) {
        DatabaseErrorKind::Denied => DatabaseErrorKind::Denied,
        _ => DatabaseErrorKind::Unreachable,
    };
    let hint = match said.code {
        1045 if url.password.is_none() => Some(
            "the address has no password: mysql://USER:PASSWORD@HOST/NAME, special characters as %XX",
        ),
        1045 | 1698 => Some("wrong user or password, or this user may not connect from this host"),
        1044 => Some("the user may not read this database: GRANT SELECT ON NAME.* TO it"),
        3159 => Some("the server requires TLS: append ?ssl-mode=required to the address"),
        _ => None,
    };
    DatabaseError {
        native_code: Some(said.code.to_string()),
        hint: hint.map(str::to_owned),
        ..DatabaseError::new(kind, format!("{url}: {}", said.message))
    }
}

/// Error number for an unknown database.
pub(super) const NO_DATABASE: &str = "1049";

/// Converts the error of a user's query or of one of the driver's own statements.
pub(super) fn of_query(error: &Error, sql: &str) -> DatabaseError {
    match error {
        Error::Server(said) => of_server(said, sql),
        Error::Driver(DriverError::Params(_) | DriverError::MixedParams) => placeholders(),
        other => DatabaseError::new(
            DatabaseErrorKind::Unreachable,
            format!("lost the connection: {}", reason(other)),
        ),
    }
}

/// Returns the root cause of an error. The outer errors only repeat it.
fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Returns the error for a query with `?` or `:name`, which the library reads as parameters.
pub(super) fn placeholders() -> DatabaseError {
    DatabaseError {
        hint: Some("write the value itself instead of ? or :name".to_owned()),
        ..DatabaseError::new(
            DatabaseErrorKind::Syntax,
            "the query has a placeholder without a value",
        )
    }
}

fn of_server(said: &ServerError, sql: &str) -> DatabaseError {
    DatabaseError {
        native_code: Some(said.code.to_string()),
        position: place(&said.message, sql),
        ..DatabaseError::new(kind(said.code), said.message.clone())
    }
}

/// Returns the kind of an error number, by the error references of MariaDB and MySQL.
fn kind(code: u16) -> DatabaseErrorKind {
    use DatabaseErrorKind::{
        Denied, Failed, Limit, ReadOnly, Syntax, Timeout, UnknownName, Unreachable,
    };
    match code {
        1044 | 1045 | 1130 | 1142 | 1143 | 1227 | 1251 | 1275 | 1345 | 1356 | 1370 | 1396
        | 1410 | 1698 | 1820 | 1862 | 3118 | 3159 | 4151 => Denied,
        1064 | 1065 | 1149 | 1210 | 1221 | 1222 | 1235 | 1248 => Syntax,
        1046 | 1049 | 1051 | 1054 | 1109 | 1146 | 1176 | 1193 | 1247 | 1305 | 1327 | 1630
        | 4091 => UnknownName,
        1205 | 1317 | 1969 | 3024 => Timeout,
        1223 | 1290 | 1295 | 1792 | 1836 => ReadOnly,
        1021 | 1037 | 1038 | 1041 | 1104 | 1114 | 1153 | 1203 | 1226 | 1301 | 1436 | 3636 => Limit,
        1040 | 1053 | 1077..=1079 | 1129 | 1152 | 1158..=1161 | 1184 | 1927 => Unreachable,
        _ => Failed,
    }
}

/// Returns the byte in `sql` at which the server stopped parsing, found by the text that the
/// message repeats.
fn place(message: &str, sql: &str) -> Option<usize> {
    let (_, rest) = message.split_once(" near '")?;
    let (near, line) = rest.rsplit_once("' at line ")?;
    let line: usize = line.trim().parse().ok()?;
    if near.is_empty() {
        return Some(sql.trim_end().len());
    }
    // If the server did not truncate this text, it extends to the end of the query.
    if near.len() < NEAR && sql.ends_with(near) {
        return Some(sql.len() - near.len());
    }
    let breaks = sql.match_indices('\n').map(|(at, _)| at + 1);
    let start = std::iter::once(0).chain(breaks).nth(line.checked_sub(1)?)?;
    let end = sql[start..].find('\n').map_or(sql.len(), |at| start + at);
    let found = start + sql[start..].find(near)?;
    (found <= end).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_by_the_text_that_the_server_repeats() {
        let long = format!("SELECT 1,\n  FORM t -- {}", "x".repeat(100));
        let cut: String = long["SELECT 1,\n  ".len()..].chars().take(80).collect();
        for (near, line, sql, expected) in [
            ("FORM users", 1, "SELECT * FORM users", Some(9)),
            ("x x", 1, "SELECT x x x", Some(9)),
            ("", 1, "SELECT * FROM  ", Some(13)),
            (cut.as_str(), 2, long.as_str(), Some(12)),
            ("' at line 3", 1, "SELECT '' at line 3", Some(8)),
            ("something else", 1, "SELECT 1", None),
        ] {
            let message = format!("You have an error; use near '{near}' at line {line}");
            assert_eq!(place(&message, sql), expected, "{sql}");
        }
        assert_eq!(
            place("Unknown column 'x' in 'field list'", "SELECT x"),
            None
        );
    }
}
