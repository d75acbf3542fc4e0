//! A form as it grows: columns once, rows in batches, and an end.

use std::fmt;

use super::{CsvOptions, ExportError, Format, arrow, csv, json, xlsx};
use crate::rows::Truncated;
use crate::{Cell, ColumnInfo};

/// What a form does with rows. Bytes that are ready go into `out`; some are kept for later, never
/// more than a bounded number of rows makes.
pub(super) trait Form: Send {
    fn rows(&mut self, rows: Vec<Vec<Cell>>, out: &mut Vec<u8>) -> Result<(), ExportError>;

    fn end(
        self: Box<Self>,
        truncated: Option<Truncated>,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError>;
}

/// Rows on their way into a form. What it gives out, one piece after the other, is the file;
/// without the last one, of [`Writer::end`], it is not complete.
pub struct Writer {
    format: Format,
    form: Box<dyn Form>,
    /// What is ready and was not given out.
    out: Vec<u8>,
}

impl Writer {
    /// Begins a file with these columns. `options` are those of CSV; the other forms have none.
    ///
    /// # Errors
    /// The form cannot have so many columns, or one of that name, or this build does not have it.
    pub fn new(
        columns: Vec<ColumnInfo>,
        format: Format,
        options: &CsvOptions,
    ) -> Result<Self, ExportError> {
        let mut out = Vec::new();
        let form: Box<dyn Form> = match format {
            Format::Json => Box::new(json::Document::begin(&columns, &mut out)?),
            Format::Ndjson => Box::new(json::Lines::begin(&columns)),
            Format::Csv => Box::new(csv::Csv::begin(&columns, options, &mut out)),
            Format::Arrow | Format::ArrowStream | Format::Parquet => arrow::form(columns, format)?,
            Format::Xlsx => Box::new(xlsx::Workbook::begin(columns)?),
        };
        Ok(Writer { format, form, out })
    }

    /// The form.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Adds rows; the bytes that are ready.
    ///
    /// # Errors
    /// The form cannot hold a value.
    pub fn rows(&mut self, rows: Vec<Vec<Cell>>) -> Result<Vec<u8>, ExportError> {
        self.form.rows(rows, &mut self.out)?;
        Ok(std::mem::take(&mut self.out))
    }

    /// Ends the file; its last bytes. Forms that can, say in themselves that rows are missing.
    ///
    /// # Errors
    /// The form cannot hold a value.
    pub fn end(mut self, truncated: Option<Truncated>) -> Result<Vec<u8>, ExportError> {
        self.form.end(truncated, &mut self.out)?;
        Ok(self.out)
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({})", self.format.name())
    }
}
