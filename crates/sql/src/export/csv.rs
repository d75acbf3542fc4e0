//! Exports rows as CSV (RFC 4180).

use std::borrow::Cow;

use super::ExportError;
use super::row_format::RowFormat;
use super::text::text;
use crate::rows::TruncationReason;
use crate::{Cell, ColumnInfo};

/// Options of CSV exports. The output is always UTF-8, lines end with CRLF, and values are quoted
/// where needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether the first line contains the column names. Default `true`.
    pub header: bool,
    /// Whether the file starts with a byte order mark. Without the mark, Excel assumes another
    /// encoding. Default `false`.
    pub bom: bool,
    /// Whether an apostrophe is added before text that a spreadsheet would execute as a formula.
    /// Default `false`, because other programs read the apostrophe as part of the text.
    pub guard_formulas: bool,
    /// Text that represents NULL; empty by default. A text value that equals it is quoted, so that
    /// readers such as PostgreSQL's COPY can tell the value from NULL.
    pub null: String,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions {
            header: true,
            bom: false,
            guard_formulas: false,
            null: String::new(),
        }
    }
}

/// State of a CSV export.
pub(super) struct Csv {
    options: CsvOptions,
    has_columns: bool,
}

impl Csv {
    pub(super) fn begin(columns: &[ColumnInfo], options: &CsvOptions, out: &mut Vec<u8>) -> Self {
        let mut head = String::new();
        if options.bom {
            head.push('\u{feff}');
        }
        if options.header && !columns.is_empty() {
            let names = columns.iter().map(|column| column.name.as_str());
            let names = names.map(|name| Some(guarded(Cow::Borrowed(name), options)));
            line(&mut head, names, options);
        }
        out.append(&mut head.into_bytes());
        Csv {
            options: options.clone(),
            has_columns: !columns.is_empty(),
        }
    }
}

impl RowFormat for Csv {
    fn rows(&mut self, rows: Vec<Vec<Cell>>, out: &mut Vec<u8>) -> Result<(), ExportError> {
        if !self.has_columns {
            return Ok(());
        }
        let mut lines = String::new();
        for row in &rows {
            let fields = row.iter().map(|cell| field(cell, &self.options));
            line(&mut lines, fields, &self.options);
        }
        out.append(&mut lines.into_bytes());
        Ok(())
    }

    /// Returns no bytes, because readers would parse a footer as a row.
    fn end(
        self: Box<Self>,
        _: Option<TruncationReason>,
        _: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        Ok(())
    }
}

fn line<'a>(
    out: &mut String,
    fields: impl Iterator<Item = Option<Cow<'a, str>>>,
    options: &CsvOptions,
) {
    let start = out.len();
    for (place, field) in fields.enumerate() {
        if place > 0 {
            out.push(',');
        }
        match field {
            None => out.push_str(&options.null),
            Some(field) if needs_quotes(&field, options) => quote(out, &field),
            Some(field) => out.push_str(&field),
        }
    }
    // Readers skip an empty line, and would lose the NULL of a single-column row.
    if out.len() == start {
        out.push_str("\"\"");
    }
    out.push_str("\r\n");
}

fn needs_quotes(field: &str, options: &CsvOptions) -> bool {
    field == options.null || field.contains(['"', ',', '\r', '\n'])
}

fn quote(out: &mut String, field: &str) {
    out.push('"');
    out.push_str(&field.replace('"', "\"\""));
    out.push('"');
}

fn field<'a>(cell: &'a Cell, options: &CsvOptions) -> Option<Cow<'a, str>> {
    let text = text(cell)?;
    Some(match cell {
        Cell::Text(_) | Cell::Json(_) => guarded(text, options),
        _ => text,
    })
}

/// Applies the protection that OWASP's page on CSV injection describes. It also covers full-width
/// characters, which East Asian editions of Excel treat in the same way.
fn guarded<'a>(text: Cow<'a, str>, options: &CsvOptions) -> Cow<'a, str> {
    // Spreadsheets strip a leading tab or carriage return and then see the formula after it.
    let begins = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    if options.guard_formulas && text.starts_with(begins) && !is_number(&text) {
        Cow::Owned(format!("'{text}"))
    } else {
        text
    }
}

/// Drivers return decimals as text, and a negative decimal is not a formula.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(is_part)
}
