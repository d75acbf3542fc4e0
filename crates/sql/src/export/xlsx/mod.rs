//! Exports rows as a workbook with one sheet (Office Open XML, ECMA-376).
//!
//! Spreadsheet numbers have 15 digits and spreadsheet times have no time zone. More precise values
//! become text, as do unsupported types. Texts are never written as formulas.

mod zip;

use std::borrow::Cow;
use std::io;

use super::row_format::RowFormat;
use super::text::text;
use super::values;
use super::{ExportError, ExportFormat};
use crate::rows::{TruncationReason, ValueType};
use crate::{Cell, ColumnInfo};
use zip::Zip;

/// Maximum rows of a sheet, including the header (Excel specifications and limits).
const MAX_ROWS: usize = 1_048_576;
/// Maximum columns of a sheet.
const MAX_COLUMNS: usize = 16_384;
/// Maximum characters of a cell, in UTF-16 code units.
const MAX_CHARACTERS: usize = 32_767;
/// Significant digits that a spreadsheet preserves.
const DIGITS: usize = 15;

/// 1970-01-01 as a spreadsheet day number.
const EPOCH: i64 = 25_569;
const DAY_MILLIS: f64 = 86_400_000.0;

/// Indexes of cell formats in [`STYLES`].
const PLAIN: u8 = 0;
const BOLD: u8 = 1;
const DAY: u8 = 2;
const MOMENT: u8 = 3;

/// XML declaration at the start of every part.
const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";

const TYPES: &str = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\
<Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
<Default Extension=\"xml\" ContentType=\"application/xml\"/>\
<Override PartName=\"/xl/workbook.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml\"/>\
<Override PartName=\"/xl/worksheets/sheet1.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml\"/>\
<Override PartName=\"/xl/styles.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml\"/></Types>";

const ROOT: &str = "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
<Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>";

const WORKBOOK: &str = "<workbook xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" \
xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\">\
<sheets><sheet name=\"Result\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>";

const PARTS: &str = "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
<Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" Target=\"worksheets/sheet1.xml\"/>\
<Relationship Id=\"rId2\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles\" Target=\"styles.xml\"/></Relationships>";

const STYLES: &str = "<styleSheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">\
<numFmts count=\"2\"><numFmt numFmtId=\"164\" formatCode=\"yyyy\\-mm\\-dd\"/>\
<numFmt numFmtId=\"165\" formatCode=\"yyyy\\-mm\\-dd\\ hh:mm:ss.000\"/></numFmts>\
<fonts count=\"2\"><font><sz val=\"11\"/><name val=\"Calibri\"/></font><font><b/><sz val=\"11\"/><name val=\"Calibri\"/></font></fonts>\
<fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill><fill><patternFill patternType=\"gray125\"/></fill></fills>\
<borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>\
<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>\
<cellXfs count=\"4\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/>\
<xf numFmtId=\"0\" fontId=\"1\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyFont=\"1\"/>\
<xf numFmtId=\"164\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>\
<xf numFmtId=\"165\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/></cellXfs>\
<cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles></styleSheet>";

const SHEET: &str = "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">\
<sheetViews><sheetView workbookViewId=\"0\"><pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/></sheetView></sheetViews><sheetData>";

/// Bytes to buffer before the archive is flushed. A smaller workbook is written in one piece, with
/// its sizes in the headers, where readers look first.
const PIECE: usize = 256 << 10;

const PARTS_BEFORE: [(&str, &str); 5] = [
    ("[Content_Types].xml", TYPES),
    ("_rels/.rels", ROOT),
    ("xl/workbook.xml", WORKBOOK),
    ("xl/_rels/workbook.xml.rels", PARTS),
    ("xl/styles.xml", STYLES),
];

/// State of a workbook export. The only sheet is the last part of the archive.
pub(super) struct Workbook {
    zip: Zip,
    columns: Vec<ColumnInfo>,
    /// Number of rows written, including the header.
    height: usize,
}

impl Workbook {
    pub(super) fn begin(columns: Vec<ColumnInfo>) -> Result<Self, ExportError> {
        let width = columns.len();
        if width > MAX_COLUMNS {
            return Err(failed(format!(
                "too many columns for a sheet: {width} (limit {MAX_COLUMNS} columns); \
                 csv and parquet have no such limit"
            )));
        }
        let mut head = format!("{HEAD}{SHEET}<row>");
        for column in &columns {
            string(&mut head, &column.name, BOLD)
                .map_err(|length| too_long(length, "its header", &column.name))?;
        }
        head.push_str("</row>");
        Ok(Workbook {
            zip: parts(&head).map_err(|error| unpacked(&error))?,
            columns,
            height: 1,
        })
    }
}

impl RowFormat for Workbook {
    fn rows(&mut self, rows: Vec<Vec<Cell>>, out: &mut Vec<u8>) -> Result<(), ExportError> {
        let mut sheet = String::new();
        for row in &rows {
            if self.height == MAX_ROWS {
                return Err(failed(format!(
                    "too many rows for a sheet (limit {MAX_ROWS} rows, including the header); \
                     csv and parquet have no such limit"
                )));
            }
            sheet.push_str("<row>");
            for (cell, column) in row.iter().zip(&self.columns) {
                let place = || format!("row {}", self.height);
                let written = value(&mut sheet, cell, column.value_type);
                written.map_err(|length| too_long(length, &place(), &column.name))?;
            }
            sheet.push_str("</row>");
            self.height += 1;
        }
        self.zip
            .write(sheet.as_bytes())
            .map_err(|error| unpacked(&error))?;
        // Small workbooks stay in memory until the end, so that their sizes can be written into the
        // headers.
        if self.zip.ready() > PIECE {
            self.zip.take(out);
        }
        Ok(())
    }

    fn end(
        mut self: Box<Self>,
        _: Option<TruncationReason>,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let sheet = self.zip.write(b"</sheetData></worksheet>");
        let ended = sheet.and_then(|()| self.zip.end());
        ended
            .and_then(|()| self.zip.finish(out))
            .map_err(|error| unpacked(&error))
    }
}

/// Writes the archive up to the first row of the sheet.
fn parts(head: &str) -> io::Result<Zip> {
    let mut zip = Zip::default();
    for (name, content) in PARTS_BEFORE {
        zip.add(name, format!("{HEAD}{content}").as_bytes())?;
    }
    zip.begin("xl/worksheets/sheet1.xml")?;
    zip.write(head.as_bytes())?;
    Ok(zip)
}

fn failed(message: impl Into<String>) -> ExportError {
    ExportError::new(ExportFormat::Xlsx, message)
}

fn unpacked(error: &io::Error) -> ExportError {
    failed(error.to_string())
}

fn too_long(length: usize, place: &str, column: &str) -> ExportError {
    failed(format!(
        "{place} of column {column:?} has {length} characters (limit {MAX_CHARACTERS}); \
         csv and parquet have no such limit"
    ))
}

/// Writes a cell. A cell without a reference follows the cell before it.
///
/// # Errors
/// Returns the length of a text that is too long as the error.
fn value(out: &mut String, cell: &Cell, kind: ValueType) -> Result<(), usize> {
    let Some(text) = text(cell) else {
        out.push_str("<c/>");
        return Ok(());
    };
    if let Cell::Bool(truth) = cell {
        out.push_str(if *truth {
            "<c t=\"b\"><v>1</v></c>"
        } else {
            "<c t=\"b\"><v>0</v></c>"
        });
        return Ok(());
    }
    match number(cell, &text, kind) {
        Some((number, style)) => out.push_str(&format!("<c s=\"{style}\"><v>{number}</v></c>")),
        None => string(out, &text, PLAIN)?,
    }
    Ok(())
}

/// Returns the number that a spreadsheet stores exactly for the value, with its style.
fn number<'a>(cell: &Cell, text: &'a str, kind: ValueType) -> Option<(Cow<'a, str>, u8)> {
    match (cell, kind) {
        (Cell::Int(_) | Cell::UInt(_), _) | (Cell::Text(_), ValueType::Decimal) => {
            is_short(text).then_some((Cow::Borrowed(text), PLAIN))
        }
        (Cell::Float(float), _) => float.is_finite().then_some((Cow::Borrowed(text), PLAIN)),
        (Cell::Text(_), ValueType::Date) => Some((Cow::Owned(day(text)?), DAY)),
        (Cell::Text(_), ValueType::Timestamp) => Some((Cow::Owned(moment(text)?), MOMENT)),
        _ => None,
    }
}

/// Returns whether a text is a number with few enough digits, such as `-12.50`.
fn is_short(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    is_part(whole) && is_part(fraction) && digits.replace('.', "").len() <= DIGITS
}

/// Returns a date as days since 1899-12-30. Dates before 1900-03-01 are rejected, because Excel
/// counts a leap day that never existed.
fn day(text: &str) -> Option<String> {
    let days = i64::from(values::days(text)?) + EPOCH;
    (days >= 61).then(|| days.to_string())
}

/// Returns a date and time as days with a fraction. The fraction is limited to milliseconds.
fn moment(text: &str) -> Option<String> {
    let micros = values::timestamp(text)?;
    let days = (micros / 1000) as f64 / DAY_MILLIS + EPOCH as f64;
    (micros % 1000 == 0 && days >= 61.0).then(|| format!("{days:.11}"))
}

fn string(out: &mut String, text: &str, style: u8) -> Result<(), usize> {
    let length = text.encode_utf16().count();
    if length > MAX_CHARACTERS {
        return Err(length);
    }
    out.push_str(&format!(
        "<c s=\"{style}\" t=\"inlineStr\"><is><t xml:space=\"preserve\">"
    ));
    escape(out, text);
    out.push_str("</t></is></c>");
    Ok(())
}

/// Escapes a text for XML. XML forbids control characters and parses a carriage return as a line
/// feed, so both are written as `_x000D_` (ECMA-376 part 1, 22.9.2.19). In a text that looks like
/// such an escape, the underscore itself is escaped.
fn escape(out: &mut String, text: &str) {
    for (place, c) in text.char_indices() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\t' | '\n' => out.push(c),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("_x{:04X}_", u32::from(c)));
            }
            '_' if looks_escaped(text.get(place..).unwrap_or_default()) => out.push_str("_x005F_"),
            _ => out.push(c),
        }
    }
}

fn looks_escaped(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = bytes.get(2..6).unwrap_or_default();
    bytes.get(1) == Some(&b'x')
        && bytes.get(6) == Some(&b'_')
        && digits.iter().all(u8::is_ascii_hexdigit)
}
