//! Rows as they go out: a table for people, or a form for programs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use quillet_sql::export::{ExportFormat, rows_json};
use quillet_sql::rows::TruncationReason;
use quillet_sql::{QueryLimits, QueryRun, RunOptions, SqlConfig, SqlError, StreamResult};
use serde_json::{Value, json};

use super::export::Output;
use super::failed::report_error;
use super::table::{self, TableStyle};
use crate::args::{OutputFormat, ShowRows};
use crate::chat::sanitize;
use crate::failure::CliError;
use crate::terminal::{self, Stream, TextStyle, styled};

/// Endings of files and the forms that they name.
const ENDINGS: [(&str, OutputFormat); 10] = [
    ("txt", OutputFormat::Table),
    ("json", OutputFormat::Json),
    ("ndjson", OutputFormat::Ndjson),
    ("jsonl", OutputFormat::Ndjson),
    ("csv", OutputFormat::Csv),
    ("md", OutputFormat::Markdown),
    ("arrow", OutputFormat::Arrow),
    ("feather", OutputFormat::Arrow),
    ("parquet", OutputFormat::Parquet),
    ("xlsx", OutputFormat::Xlsx),
];

/// The form that was asked for by name, by the ending of the file, or a table.
///
/// # Errors
/// The ending says that it should be a form which is not there.
fn form(show: &ShowRows) -> Result<OutputFormat, CliError> {
    if let Some(form) = show.format {
        return Ok(form);
    }
    let ending = show.output.as_deref().and_then(Path::extension);
    let Some(ending) = ending.map(|ending| ending.to_string_lossy().to_lowercase()) else {
        return Ok(OutputFormat::Table);
    };
    let named = ENDINGS.iter().find(|(known, _)| *known == ending);
    named.map(|(_, form)| *form).ok_or_else(|| {
        let known = ENDINGS.map(|(known, _)| known).join(", ");
        CliError::Usage(format!(
            "unknown output format .{}: use {known}, or set -o FORMAT",
            sanitize(&ending)
        ))
    })
}

/// Leaves a file alone that exists, which is reported before anything is asked. Devices and pipes
/// are written to.
///
/// # Errors
/// It is there, and nobody said that it may be replaced.
fn free(show: &ShowRows) -> Result<(), CliError> {
    match &show.output {
        Some(path) if path.is_file() && !path.starts_with("/dev") && !show.force => {
            Err(CliError::Usage(format!(
                "{}: file already exists; pass --force to replace it",
                path.display()
            )))
        }
        _ => Ok(()),
    }
}

/// How a query is run for what is to be shown of it: files may be longer than what people read.
///
/// # Errors
/// Nobody could read its rows where they would go, which is reported before anything is asked.
pub(super) fn options(show: &ShowRows, config: &SqlConfig) -> Result<RunOptions, CliError> {
    free(show)?;
    let form = form(show)?;
    let is_bytes = matches!(
        form,
        OutputFormat::Arrow | OutputFormat::Parquet | OutputFormat::Xlsx
    );
    if is_bytes && show.output.is_none() && Stream::Out.is_terminal() {
        return Err(CliError::Usage(
            "cannot print binary output on a terminal: pass --output FILE, or write to a pipe"
                .into(),
        ));
    }
    let defaults = match form {
        OutputFormat::Table | OutputFormat::Markdown => &config.limits,
        _ => &config.export_limits,
    };
    let rows = show
        .limit
        .map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
    Ok(RunOptions {
        limits: Some(QueryLimits {
            rows: rows.unwrap_or(defaults.rows),
            bytes: defaults.bytes,
            timeout: show.timeout.unwrap_or(defaults.timeout),
        }),
        ..RunOptions::default()
    })
}

/// Writes a table where it is wanted, and how many rows there were on standard error.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(ran: &QueryRun, show: &ShowRows) -> Result<(), CliError> {
    let looked_at = show.output.is_none() && Stream::Out.is_terminal();
    let look = TableStyle {
        width: looked_at.then(terminal::width),
        colour: looked_at && Stream::Out.has_colour(),
        expanded: show.expanded,
    };
    let text = match form(show)? {
        OutputFormat::Markdown => table::markdown(&ran.rows),
        _ => table::shown(&ran.rows, look),
    };
    match &show.output {
        Some(path) => {
            let wrong = |error| CliError::Other(format!("{}: {error}", path.display()));
            fs::write(path, text).map_err(wrong)?;
        }
        None => terminal::bytes(text.as_bytes())?,
    }
    print_summary(
        ran.rows.rows.len() as u64,
        ran.rows.truncated,
        ran.execution_ms,
    );
    Ok(())
}

/// Ends a file whose rows came as the query ran, and says how many there were.
///
/// # Errors
/// The query failed, or its rows cannot be written.
pub(super) fn finish(
    ran: Result<StreamResult, SqlError>,
    output: Output,
    sql: Option<&str>,
) -> Result<(), CliError> {
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => {
            let failure = report_error(&error, sql);
            output.give_up();
            return Err(failure);
        }
    };
    output.finish()?;
    print_summary(ran.row_count, ran.truncated(), ran.execution_ms);
    Ok(())
}

/// How many rows there are, on standard error.
fn print_summary(rows: u64, truncated: Option<TruncationReason>, execution_ms: u64) {
    let text = count(rows, truncated, Duration::from_millis(execution_ms));
    terminal::note(&styled(&text, TextStyle::Dim, Stream::Err.has_colour()));
}

/// The form for programs that rows are wanted in, which they are written in while they come;
/// `None` for tables, whose columns are as wide as the widest of all rows.
///
/// # Errors
/// The ending says that it should be a form which is not there.
pub(super) fn export(show: &ShowRows) -> Result<Option<ExportFormat>, CliError> {
    let form = match form(show)? {
        OutputFormat::Table | OutputFormat::Markdown => return Ok(None),
        form => form,
    };
    let name = form
        .to_possible_value()
        .map(|value| value.get_name().to_owned());
    let format: Result<ExportFormat, _> = name.unwrap_or_default().parse();
    let format = format.map_err(|error| CliError::Usage(error.to_string()))?;
    Ok(Some(format))
}

/// How many rows there are, and whether some are missing.
fn count(rows: u64, truncated: Option<TruncationReason>, time: Duration) -> String {
    let rows = match rows {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    let time = took(time);
    match truncated {
        None => format!("{rows} in {time}"),
        Some(TruncationReason::Rows) => {
            format!("truncated at {rows} in {time}; read more with --limit ROWS")
        }
        Some(TruncationReason::Bytes) => {
            format!("truncated at {rows} in {time} by the limit sql.bytes; select fewer columns")
        }
    }
}

/// A time for people.
pub(super) fn took(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..1000 => format!("{ms} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// A query that ran, for programs: as the API gives it out.
pub(super) fn as_json(ran: &QueryRun) -> Value {
    json!({
        "sql": ran.sql,
        "tables": ran.tables,
        "result": rows_json(&ran.rows),
        "executionTimeMs": ran.execution_ms,
    })
}
