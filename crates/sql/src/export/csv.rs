//! Rows as text with commas (RFC 4180).

use std::borrow::Cow;

use super::ExportError;
use super::row_format::RowFormat;
use super::text::text;
use crate::rows::TruncationReason;
use crate::{Cell, ColumnInfo};

/// Options of CSV. Always UTF-8 with CRLF, quoted where needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether the first line names the columns; true.
    pub header: bool,
    /// Whether the file begins with a byte order mark, without which Excel takes it for
    /// another encoding; false.
    pub bom: bool,
    /// Whether texts that a spreadsheet would run as a formula get an apostrophe before
    /// them; false, since it changes the text for every other reader.
    pub guard_formulas: bool,
    /// What stands for NULL; nothing at all unless set. The same as a text is quoted, so that
    /// readers that look at quotes (PostgreSQL's COPY) can tell them apart.
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

/// A file that grows.
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

    /// The last line is the last row: nothing that readers would take for one may follow.
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
    // Readers skip an empty line, and with it the NULL of an only column.
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

/// The guard that OWASP's page on CSV injection describes; also for the full-width forms,
/// which East Asian editions take for the same.
fn guarded<'a>(text: Cow<'a, str>, options: &CsvOptions) -> Cow<'a, str> {
    // A leading tab or carriage return is stripped by spreadsheets, which then see the formula
    // behind it.
    let begins = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    if options.guard_formulas && text.starts_with(begins) && !is_number(&text) {
        Cow::Owned(format!("'{text}"))
    } else {
        text
    }
}

/// Decimals are texts too; one that is below zero is no formula.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(is_part)
}
