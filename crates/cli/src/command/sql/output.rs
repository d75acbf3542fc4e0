//! Output of rows: a table for terminals, or a machine-readable format.

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

/// File extensions and their formats.
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

/// Returns the requested format, or else the format of the file extension, or else a table.
/// table.
///
/// # Errors
/// The file extension is unknown.
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

/// Rejects an existing file before the query starts. Devices and pipes are accepted.
///
/// # Errors
/// The file exists, and the user has not allowed replacing it.
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

/// Returns the options for running a query. Exported files may have more rows than tables on a
/// terminal.
///
/// # Errors
/// The output is not usable. This is reported before the query starts.
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

/// Writes a table, and prints the row count on standard error.
///
/// # Errors
/// The output cannot be written.
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

/// Finishes an export and prints the row count.
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

/// Prints the row count on standard error.
fn print_summary(rows: u64, truncated: Option<TruncationReason>, execution_ms: u64) {
    let text = count(rows, truncated, Duration::from_millis(execution_ms));
    terminal::note(&styled(&text, TextStyle::Dim, Stream::Err.has_colour()));
}

/// Returns the format for exporting rows while the query runs. Returns `None` for tables, because
/// their column widths depend on all rows.
///
/// # Errors
/// The file extension is unknown.
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

/// Formats the row count, with a note if the result is truncated.
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

/// Formats a duration.
pub(super) fn took(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..1000 => format!("{ms} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// Returns an executed query as JSON, in the same form as the API.
pub(super) fn as_json(ran: &QueryRun) -> Value {
    json!({
        "sql": ran.sql,
        "tables": ran.tables,
        "result": rows_json(&ran.rows),
        "executionTimeMs": ran.execution_ms,
    })
}
