//! Reports database errors with their location in the query, the fix, and the exit code.

use quillet_core::{Diagnostic, Span};
use quillet_sql::{DatabaseError, DatabaseErrorKind, SqlError};

use crate::chat::sanitize;
use crate::failure::CliError;
use crate::report::{self, LocatedDiagnostic};
use crate::terminal::{self, Stream, TextStyle, styled};

/// Name of the query in locations.
const QUERY: &str = "query";

/// Reports an error. The returned failure prints nothing more. `sql` is the query that ran, if
/// known.
pub(super) fn report_error(error: &SqlError, sql: Option<&str>) -> CliError {
    match error_span(error, sql) {
        Some((text, span)) => {
            let mut diagnostic = Diagnostic::error(error.code(), QUERY, one_message(error));
            diagnostic.help = error.help();
            diagnostic.span = Some(span);
            let finding = LocatedDiagnostic {
                diagnostic,
                text: Some(sanitize(text).into_owned()),
            };
            terminal::note(report::show(&finding, Stream::Err.has_colour()).trim_end());
        }
        None => bare(error),
    }
    CliError::Said(error.code().exit())
}

/// Sanitises a message, because databases repeat parts of the query and the data.
fn one_message(error: &SqlError) -> String {
    sanitize(&error.to_string()).into_owned()
}

fn bare(error: &SqlError) {
    terminal::error(&one_message(error));
    let help = match (error.help(), extra_help(error)) {
        (Some(help), Some(beside)) => Some(format!("{help}; {beside}")),
        (help, beside) => help.or(beside.map(str::to_owned)),
    };
    if let Some(help) = help {
        let head = styled("help:", TextStyle::Bold, Stream::Err.has_colour());
        terminal::note(&format!("{head} {}", sanitize(&help)));
    }
    if let SqlError::Answer { answer, .. } = error {
        terminal::note(&format!("the model answered:\n{}", sanitize(answer)));
    }
}

/// Returns help that is specific to the command line.
pub(super) fn extra_help(error: &SqlError) -> Option<&'static str> {
    match error {
        SqlError::Database(error) if error.kind == DatabaseErrorKind::Denied => {
            match error.native_code.as_deref() {
                // The PostgreSQL library itself reports a missing password.
                None | Some("28P01") => Some("pass the password with -W, PGPASSWORD or ~/.pgpass"),
                Some("1045") => Some("pass the password with -W or MYSQL_PWD"),
                _ => None,
            }
        }
        SqlError::NoModel => Some(
            "set a model with -m NAME and its key with `quillet keys set`; -m mock answers recorded questions to the demo offline; `quillet sql run` and `quillet sql tables` need no model",
        ),
        _ => None,
    }
}

/// Returns the query and the location of the error.
fn error_span<'a>(error: &'a SqlError, sql: Option<&'a str>) -> Option<(&'a str, Span)> {
    let span = span(error)?;
    match error {
        SqlError::Guard(refusal) => Some((refusal.sql.as_str(), span)),
        _ => Some((sql?, span)),
    }
}

fn span(error: &SqlError) -> Option<Span> {
    match error {
        SqlError::Guard(refusal) => refusal.error.span,
        SqlError::Database(DatabaseError {
            position: Some(at), ..
        }) => Some(Span {
            start: *at,
            end: *at,
        }),
        _ => None,
    }
}
