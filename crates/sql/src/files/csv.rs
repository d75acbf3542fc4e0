//! Loads comma-, semicolon-, tab- or pipe-separated values.
//!
//! Cells follow RFC 4180, with line ends of any system. Empty lines are ignored. All rows must have
//! as many cells as the first. A shorter or longer row is an error, because guessing would move
//! values into other columns.

use std::io::{Chain, Read};
use std::path::Path;
use std::rc::Rc;

use ::csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};
use quillet_core::ErrorCode;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::job::LoadJob;
use super::kind::{self, BLANKS, ColumnStats, Type, ValueKind};
use super::table::TableLoader;
use super::text::{ReadPosition, TextReader, text_error};
use super::{FileError, Header, names};

/// Bytes at the start of a file from which the separator is detected.
const SAMPLE: u64 = 64 << 10;
/// Possible separators, most likely first.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Sentinel appended as the last line. If it is not parsed as a line, a quote before it is
/// unclosed, which the CSV reader would not report.
const LAST: &[u8] = b"\n\x1equillet\x1e\n";
const LAST_CELL: &str = "\u{1e}quillet\u{1e}";
/// Numbers that can be column names, as in tables of years.
const YEARS: std::ops::RangeInclusive<i64> = 1900..=2100;

/// Loads a file into a table.
///
/// # Errors
/// Fails if the file is invalid or exceeds the limits.
pub(super) fn load(
    path: &Path,
    table: &str,
    separator: Option<u8>,
    job: &mut LoadJob,
    connection: &Connection,
) -> Result<(), FileError> {
    let form = CsvFormat::of(path, separator, job)?;
    let mut seen: Vec<ColumnStats> = Vec::new();
    let mut first = StringRecord::new();
    // The first pass infers types from all rows and does not store anything.
    let size = each(path, form, 0, job, &mut |_, row| {
        if row.number == 0 {
            first = row.cells.clone();
            seen.resize(first.len(), ColumnStats::default());
            return Ok(());
        }
        for (seen, cell) in seen.iter_mut().zip(row.cells) {
            seen.observe(ValueKind::of(cell), cell, row.line);
        }
        Ok(())
    })?;
    if first.is_empty() {
        let error = FileError::new(ErrorCode::FileForm, path, "is empty");
        return Err(error.help("the file needs at least one line that contains the column names"));
    }
    // Files that use semicolons usually have a decimal comma.
    let commas = form.separator == b';';
    let has_header = match job.options.header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => !is_row(&first, &seen, commas),
    };
    if !has_header {
        for (seen, cell) in seen.iter_mut().zip(&first) {
            seen.observe(ValueKind::of(cell), cell, 1);
        }
        if job.options.header == Header::Auto {
            job.note(
                path,
                "the first line looks like a row and is read as one; if it names the columns, set sql.file_header = \"yes\"",
            );
        }
    }
    let given = first.iter().map(|name| if has_header { name } else { "" });
    let names = names::columns(path, given)?;
    let types: Vec<Type> = seen.iter().map(|seen| seen.infer_type(commas)).collect();
    for ((name, seen), kind) in names.iter().zip(&seen).zip(&types) {
        if let (Type::Text, Some((line, odd))) = (kind, seen.nearly_numbers()) {
            let note = format!("{name:?} is text, not numbers: line {line} has {odd:?}");
            job.note(path, &note);
        }
    }
    let columns: Vec<(String, Type)> = names.into_iter().zip(types.iter().copied()).collect();
    let mut table = TableLoader::make(connection, path, table, &columns)?;
    each(path, form, size, job, &mut |job, row| {
        if row.number == 0 && has_header {
            return Ok(());
        }
        for (place, (cell, kind)) in row.cells.iter().zip(&types).enumerate() {
            let value = value(cell, *kind).ok_or_else(|| changed_file_error(path, row.line))?;
            table.set(place, value)?;
        }
        table.write(job)
    })?;
    table.end()
}

/// Converts a cell to its column's type; `None` if the cell does not fit.
fn value(cell: &str, kind: Type) -> Option<ValueRef<'_>> {
    if cell.is_empty() {
        return Some(ValueRef::Null);
    }
    let inner = cell.trim_matches(BLANKS);
    let value = match kind {
        Type::Integer if inner.is_empty() => ValueRef::Null,
        Type::Integer => ValueRef::Integer(inner.parse().ok()?),
        Type::Real | Type::CommaReal | Type::Boolean if inner.is_empty() => ValueRef::Null,
        Type::Real => ValueRef::Real(inner.parse().ok()?),
        Type::CommaReal => ValueRef::Real(inner.replacen(',', ".", 1).parse().ok()?),
        Type::Boolean => ValueRef::Integer(kind::parse_bool(inner)?.into()),
        _ => ValueRef::Text(cell.as_bytes()),
    };
    Some(value)
}

fn changed_file_error(path: &Path, line: u64) -> FileError {
    FileError::new(ErrorCode::FileRead, path, "changed while it was read").at(line)
}

/// Returns whether the first line is data: it has a number above numbers, or a time above times. A
/// year above numbers is a column name.
fn is_row(first: &StringRecord, seen: &[ColumnStats], commas: bool) -> bool {
    let is_like = |(cell, seen): (&str, &ColumnStats)| {
        let kind = seen.infer_type(commas);
        let are_numbers = matches!(kind, Type::Integer | Type::Real | Type::CommaReal);
        match ValueKind::of(cell) {
            ValueKind::Small => {
                let number: Option<i64> = cell.trim_matches(BLANKS).parse().ok();
                are_numbers && !number.is_some_and(|number| YEARS.contains(&number))
            }
            ValueKind::Large | ValueKind::Decimal => are_numbers,
            ValueKind::Comma => kind == Type::CommaReal,
            ValueKind::Date => kind == Type::Date,
            ValueKind::Time => kind == Type::Time,
            ValueKind::Timestamp => kind == Type::Timestamp,
            ValueKind::Instant => kind == Type::Instant,
            _ => false,
        }
    };
    first.iter().zip(seen).any(is_like)
}

/// Format of a file.
#[derive(Clone, Copy, Debug)]
struct CsvFormat {
    separator: u8,
    /// Whether the first line is Excel's `sep=;`, which is not a row.
    says_separator: bool,
}

impl CsvFormat {
    /// Determines the format from the file extension, the settings or the first lines.
    fn of(path: &Path, separator: Option<u8>, job: &LoadJob) -> Result<CsvFormat, FileError> {
        let (text, place) = TextReader::open(path, job)?;
        let mut start = Vec::new();
        let read = text.take(SAMPLE).read_to_end(&mut start);
        read.map_err(|error| text_error(path, job, &place, &error, 1))?;
        if let [b's', b'e', b'p', b'=', separator, b'\r' | b'\n', ..] = start.as_slice() {
            return Ok(CsvFormat {
                separator: *separator,
                says_separator: true,
            });
        }
        let known = separator.or(job.options.separator);
        Ok(CsvFormat {
            separator: known.unwrap_or_else(|| detect_separator(&start)),
            says_separator: false,
        })
    }

    fn reader<R: Read>(self, from: R) -> Reader<R> {
        ReaderBuilder::new()
            .delimiter(self.separator)
            .has_headers(false)
            // Rows of other lengths are reported here, with their position.
            .flexible(true)
            .from_reader(from)
    }
}

/// Returns the separator that splits all first rows into the same number of cells, the more the
/// better. If there is none, returns the one that is most frequent in the first line.
fn detect_separator(start: &[u8]) -> u8 {
    let widths = |separator: u8| -> Vec<usize> {
        let form = CsvFormat {
            separator,
            says_separator: false,
        };
        let mut reader = form.reader(start);
        let rows = reader.byte_records().map_while(Result::ok);
        let mut widths: Vec<usize> = rows.map(|row| row.len()).collect();
        // The last row of the sample may be truncated.
        if widths.len() > 1 && start.len() as u64 == SAMPLE {
            widths.pop();
        }
        widths
    };
    // A tie goes to the earlier separator in the list, because `max_by_key` returns the last
    // maximum and the list is reversed.
    let rank = |separator: &u8| {
        let widths = widths(*separator);
        let first = widths.first().copied().unwrap_or(1);
        let are_same = first > 1 && widths.iter().all(|width| *width == first);
        (are_same, first)
    };
    let best = SEPARATORS
        .iter()
        .rev()
        .max_by_key(|separator| rank(separator));
    best.copied().unwrap_or(b',')
}

/// A row of a file.
struct CsvRow<'a> {
    /// Row number from 0; the first may contain the column names.
    number: u64,
    /// Line number of its first line, from 1.
    line: u64,
    cells: &'a StringRecord,
}

/// Passes all rows to a callback and returns their number of bytes. `before` is the number of bytes
/// read before.
fn each(
    path: &Path,
    form: CsvFormat,
    before: u64,
    job: &mut LoadJob,
    give: &mut dyn FnMut(&mut LoadJob, &CsvRow<'_>) -> Result<(), FileError>,
) -> Result<u64, FileError> {
    let (text, place) = TextReader::open(path, job)?;
    let mut reader = form.reader(text.chain(LAST));
    let mut cells = StringRecord::new();
    let mut width = None;
    if form.says_separator {
        next(&mut reader, &mut cells, path, job, &place)?;
    }
    let mut number = 0;
    while next(&mut reader, &mut cells, path, job, &place)? {
        let line = cells.position().map_or(1, ::csv::Position::line);
        let expected = *width.get_or_insert(cells.len());
        if cells.len() != expected {
            return Err(ragged(path, line, &cells, expected, form.separator));
        }
        if number > job.options.rows {
            return Err(job.too_many_rows(path));
        }
        job.report_row(path, number, before + place.bytes_read())?;
        let row = CsvRow {
            number,
            line,
            cells: &cells,
        };
        give(job, &row)?;
        number += 1;
    }
    Ok(place.bytes_read())
}

/// Reads the next row; `false` at the end.
fn next(
    reader: &mut Reader<Chain<TextReader, &'static [u8]>>,
    cells: &mut StringRecord,
    path: &Path,
    job: &LoadJob,
    place: &Rc<ReadPosition>,
) -> Result<bool, FileError> {
    let begun = reader.position().line();
    let read = reader.read_record(cells).map_err(|error| {
        let line = error.position().map_or(begun, ::csv::Position::line);
        match error.into_kind() {
            ErrorKind::Io(error) => text_error(path, job, place, &error, line),
            other => FileError::new(ErrorCode::FileForm, path, format!("{other:?}")).at(line),
        }
    })?;
    place.take(reader.position().byte());
    let line = cells.position().map_or(begun, ::csv::Position::line);
    let last = cells.iter().next_back().unwrap_or_default();
    if !read
        || last
            .strip_suffix('\n')
            .is_some_and(|last| last.ends_with(LAST_CELL))
    {
        let message = "unclosed quote in this row";
        let error = FileError::new(ErrorCode::FileForm, path, message).at(line);
        return Err(error.help("end the cell with a quote, and write each quote inside it twice"));
    }
    Ok(!(cells.len() == 1 && last == LAST_CELL))
}

fn ragged(
    path: &Path,
    line: u64,
    cells: &StringRecord,
    expected: usize,
    separator: u8,
) -> FileError {
    let count = |cells: usize| match cells {
        1 => "1 cell".to_owned(),
        cells => format!("{cells} cells"),
    };
    let message = format!("{}, but the first row has {expected}", count(cells.len()));
    let separator = match separator {
        b'\t' => "a tab".to_owned(),
        other => format!("{:?}", char::from(other)),
    };
    let help = if cells.len() > expected {
        format!(
            "quote cells that contain {separator}, or set the separator with sql.file_separator"
        )
    } else {
        format!(
            "write as many cells as the first row has, separated by {separator}, including empty ones; remove lines above and below the table"
        )
    };
    FileError::new(ErrorCode::FileRagged, path, message)
        .at(line)
        .help(help)
}
