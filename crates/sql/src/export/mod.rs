//! Rows in the forms that other programs read: JSON, CSV, Arrow, Parquet, spreadsheets.
//!
//! All forms say the same values exactly, as far as they can; where one cannot hold a value
//! there is an error that names the cell, never another value.
//!
//! A form grows with the rows of a running query ([`RowWriter`], [`RowExport`]) and holds a bounded
//! number of them; [`write()`] does the same with rows that are all there.

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

/// Rows as bytes of a form. `options` are those of CSV; the other forms have none.
///
/// # Errors
/// The form cannot hold a value.
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
