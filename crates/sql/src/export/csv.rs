//! Rows as text with commas (RFC 4180).

use std::borrow::Cow;

use super::text::text;
use crate::{Cell, Rows};

/// How CSV is written. Always UTF-8 with CRLF, quoted where needed.
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

pub(super) fn write(rows: &Rows, options: &CsvOptions) -> Vec<u8> {
    let mut out = String::new();
    if options.bom {
        out.push('\u{feff}');
    }
    if rows.columns.is_empty() {
        return out.into_bytes();
    }
    if options.header {
        let names = rows.columns.iter().map(|column| column.name.as_str());
        line(
            &mut out,
            names.map(|name| Some(guarded(Cow::Borrowed(name), options))),
            options,
        );
    }
    for row in &rows.rows {
        line(
            &mut out,
            row.iter().map(|cell| field(cell, options)),
            options,
        );
    }
    out.into_bytes()
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
    // Readers pass over an empty line, and with it the NULL of an only column.
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
    let begins = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    match options.guard_formulas && text.starts_with(begins) && !is_number(&text) {
        true => Cow::Owned(format!("'{text}")),
        false => text,
    }
}

/// Decimals are texts too; one that is below zero is no formula.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(is_part)
}
