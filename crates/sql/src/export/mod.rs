//! Exports rows to files: JSON, CSV, Arrow, Parquet and spreadsheets.
//!
//! A value that a format cannot represent exactly is an error that names the cell; values are never
//! changed.
//!
//! Exports stream the rows of a running query ([`RowWriter`], [`RowExport`]) and buffer a bounded
//! number of rows. [`write()`] exports rows in memory.

#[cfg(feature = "columnar")]
mod arrow;
#[cfg(not(feature = "columnar"))]
#[path = "arrow_disabled.rs"]
mod arrow;
mod csv;
mod error;
mod float_text;
mod format;
mod json;
mod keys;
mod row_format;
mod stream;
mod text;
mod values;
mod writer;
mod xlsx;

use crate::RowSet;
use crate::stream::BATCH_ROWS;

pub use csv::CsvOptions;
pub use error::ExportError;
pub use format::{ExportFormat, UnknownFormat};
pub use json::{AsJson, NamedRows, rows_json};
pub use stream::{ByteSink, RowExport};
pub use writer::RowWriter;

/// Exports rows to memory. `options` apply only to CSV.
///
/// # Errors
/// Fails if the format cannot represent a value.
pub fn write(
    rows: &RowSet,
    format: ExportFormat,
    options: &CsvOptions,
) -> Result<Vec<u8>, ExportError> {
    let mut writer = RowWriter::new(rows.columns.clone(), format, options)?;
    let mut all = Vec::new();
    for batch in rows.rows.chunks(BATCH_ROWS) {
        all.append(&mut writer.rows(batch.to_vec())?);
    }
    all.append(&mut writer.end(rows.truncated)?);
    Ok(all)
}
