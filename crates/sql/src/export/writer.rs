//! Writes an export: columns once, then batches of rows, then the end.

use std::fmt;

use super::row_format::RowFormat;
use super::{CsvOptions, ExportError, ExportFormat, arrow, csv, json, xlsx};
use crate::rows::TruncationReason;
use crate::{Cell, ColumnInfo};

/// Writes rows in an export format. The returned parts, joined in order, form the file.
/// [`RowWriter::end`] returns the last part, without which the file is incomplete.
pub struct RowWriter {
    format: ExportFormat,
    form: Box<dyn RowFormat>,
    /// Finished bytes that were not returned yet.
    out: Vec<u8>,
}

impl RowWriter {
    /// Starts a file that has these columns. `options` apply only to CSV.
    ///
    /// # Errors
    /// Fails if the format does not support this number of columns or a column name, or if this
    /// build does not include the format.
    pub fn new(
        columns: Vec<ColumnInfo>,
        format: ExportFormat,
        options: &CsvOptions,
    ) -> Result<Self, ExportError> {
        let mut out = Vec::new();
        let form: Box<dyn RowFormat> = match format {
            ExportFormat::Json => Box::new(json::JsonDocument::begin(&columns, &mut out)?),
            ExportFormat::Ndjson => Box::new(json::JsonLines::begin(&columns)),
            ExportFormat::Csv => Box::new(csv::Csv::begin(&columns, options, &mut out)),
            ExportFormat::Arrow | ExportFormat::ArrowStream | ExportFormat::Parquet => {
                arrow::form(columns, format)?
            }
            ExportFormat::Xlsx => Box::new(xlsx::Workbook::begin(columns)?),
        };
        Ok(RowWriter { format, form, out })
    }

    /// Returns the format that is written.
    #[must_use]
    pub fn format(&self) -> ExportFormat {
        self.format
    }

    /// Adds rows and returns the bytes that are ready to be written.
    ///
    /// # Errors
    /// Fails if the format cannot represent a value.
    pub fn rows(&mut self, rows: Vec<Vec<Cell>>) -> Result<Vec<u8>, ExportError> {
        self.form.rows(rows, &mut self.out)?;
        Ok(std::mem::take(&mut self.out))
    }

    /// Finishes the file and returns its last bytes. If `truncated` is set and the format can
    /// record missing rows, the file states that rows are missing.
    ///
    /// # Errors
    /// Fails if the format cannot represent a value.
    pub fn end(mut self, truncated: Option<TruncationReason>) -> Result<Vec<u8>, ExportError> {
        self.form.end(truncated, &mut self.out)?;
        Ok(self.out)
    }
}

impl fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({})", self.format.name())
    }
}
