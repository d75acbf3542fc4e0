//! Loads files with one JSON object per line.
//!
//! The columns are the keys of all lines, in order of appearance. A line without a key has NULL
//! there, as if it contained `null`. Objects and arrays remain JSON.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use foldhash::{HashMap, HashMapExt};
use quillet_core::ErrorCode;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::job::LoadJob;
use super::kind::{self, ColumnStats, Type, ValueKind};
use super::names::{self, UsedNames};
use super::table::TableLoader;
use super::text::{TextReader, text_error};
use super::{FileError, names::MOST_COLUMNS};

/// Loads a file into a table.
///
/// # Errors
/// Fails if the file is invalid or exceeds the limits.
pub(super) fn load(
    path: &Path,
    table: &str,
    job: &mut LoadJob,
    connection: &Connection,
) -> Result<(), FileError> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut columns: Vec<InferredColumn> = Vec::new();
    let mut taken = UsedNames::default();
    let size = each(path, 0, job, &mut |_, line, fields| {
        for (key, value) in fields {
            let place = match places.get(key.as_ref()) {
                Some(place) => *place,
                None => {
                    let place = columns.len();
                    names::bounded(path, place + 1)?;
                    columns.push(InferredColumn::new(taken.free(&names::column(place, &key))));
                    places.insert(key.to_string(), place);
                    place
                }
            };
            columns[place].look(value.get(), line);
        }
        Ok(())
    })?;
    if columns.is_empty() {
        let error = FileError::new(ErrorCode::FileForm, path, "has no rows with keys");
        return Err(error.help("write one JSON object per line"));
    }
    let types: Vec<Type> = columns.iter().map(InferredColumn::settle).collect();
    let made = columns.into_iter().zip(&types);
    let made: Vec<(String, Type)> = made.map(|(column, kind)| (column.name, *kind)).collect();
    let mut table = TableLoader::make(connection, path, table, &made)?;
    each(path, size, job, &mut |job, line, fields| {
        for (key, value) in fields {
            let changed =
                || FileError::new(ErrorCode::FileRead, path, "changed while it was read").at(line);
            let place = *places.get(key.as_ref()).ok_or_else(changed)?;
            put(&mut table, place, value.get(), types[place])?.ok_or_else(changed)?;
        }
        table.write(job)
    })?;
    table.end()
}

/// Sets a value; `None` if it does not fit its column's type.
fn put(
    table: &mut TableLoader<'_>,
    place: usize,
    raw: &str,
    kind: Type,
) -> Result<Option<()>, FileError> {
    let text;
    let value = match (raw.as_bytes().first(), kind) {
        (Some(b'n'), _) => return Ok(Some(())),
        (Some(b'"'), _) => {
            let Ok(read) = serde_json::from_str::<Cow<'_, str>>(raw) else {
                return Ok(None);
            };
            text = read;
            ValueRef::Text(text.as_bytes())
        }
        (Some(b't' | b'f'), Type::Boolean) => ValueRef::Integer((raw == "true").into()),
        (_, Type::Integer) => match raw.parse() {
            Ok(number) => ValueRef::Integer(number),
            Err(_) => return Ok(None),
        },
        (_, Type::Real) => match raw.parse() {
            Ok(number) => ValueRef::Real(number),
            Err(_) => return Ok(None),
        },
        _ => ValueRef::Text(raw.as_bytes()),
    };
    table.set(place, value).map(Some)
}

/// State of a column's type inference.
struct InferredColumn {
    name: String,
    numbers: ColumnStats,
    texts: ColumnStats,
    has_numbers: bool,
    has_texts: bool,
    has_truths: bool,
    has_parts: bool,
}

impl InferredColumn {
    fn new(name: String) -> Self {
        InferredColumn {
            name,
            numbers: ColumnStats::default(),
            texts: ColumnStats::default(),
            has_numbers: false,
            has_texts: false,
            has_truths: false,
            has_parts: false,
        }
    }

    fn look(&mut self, raw: &str, line: u64) {
        match raw.as_bytes().first() {
            Some(b'n') => {}
            Some(b't' | b'f') => self.has_truths = true,
            Some(b'{' | b'[') => self.has_parts = true,
            Some(b'"') => {
                self.has_texts = true;
                // Times never contain escapes, so the raw text between the quotes is enough.
                let inner = raw.get(1..raw.len() - 1).unwrap_or_default();
                let kind = match ValueKind::of(inner) {
                    kind @ (ValueKind::Date
                    | ValueKind::Time
                    | ValueKind::Timestamp
                    | ValueKind::Instant) => kind,
                    _ => ValueKind::Text,
                };
                self.texts.observe(kind, "", line);
            }
            _ => {
                self.has_numbers = true;
                let kind = match ValueKind::of_number(raw) {
                    // In JSON, a number with an exponent is always a number, never a code.
                    Some(ValueKind::Exponent) => ValueKind::Decimal,
                    Some(kind) => kind,
                    None if kind::parse_exact(raw).is_some() && raw.contains(['.', 'e', 'E']) => {
                        ValueKind::Decimal
                    }
                    None => ValueKind::Text,
                };
                self.numbers.observe(kind, "", line);
            }
        }
    }

    /// Returns the type that all values fit. If they have several types, the column is text, as
    /// written in the file.
    fn settle(&self) -> Type {
        match (
            self.has_numbers,
            self.has_texts,
            self.has_truths,
            self.has_parts,
        ) {
            (true, false, false, false) => self.numbers.infer_type(false),
            (false, true, false, false) => self.texts.infer_type(false),
            (false, false, true, false) => Type::Boolean,
            (false, false, false, true) => Type::Json,
            _ => Type::Text,
        }
    }
}

type JsonFields<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;
type RowCallback<'g> = dyn FnMut(&mut LoadJob, u64, JsonFields<'_>) -> Result<(), FileError> + 'g;

/// Passes the keys and values of all lines to a callback and returns their number of bytes.
fn each(
    path: &Path,
    before: u64,
    job: &mut LoadJob,
    give: &mut RowCallback<'_>,
) -> Result<u64, FileError> {
    let (text, place) = TextReader::open(path, job)?;
    let mut reader = BufReader::new(text);
    let mut bytes = Vec::new();
    let (mut line, mut rows, mut at) = (0, 0, 0);
    loop {
        bytes.clear();
        line += 1;
        let most = job.options.row_bytes;
        let read = (&mut reader).take(most + 1).read_until(b'\n', &mut bytes);
        let read = read.map_err(|error| text_error(path, job, &place, &error, line))? as u64;
        if read == 0 {
            return Ok(at);
        }
        if read > most {
            return Err(job
                .too_long_row(path, line)
                .help("raise sql.file_row_bytes"));
        }
        at += read;
        place.take(at);
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        if text.trim().is_empty() {
            continue;
        }
        if rows > job.options.rows {
            return Err(job.too_many_rows(path));
        }
        job.report_row(path, rows, before + at)?;
        rows += 1;
        let fields = fields(text).map_err(|error| wrong(path, line, text, &error))?;
        give(job, line, fields)?;
    }
}

fn wrong(path: &Path, line: u64, text: &str, error: &serde_json::Error) -> FileError {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let is_array = text.trim_start().starts_with('[');
    FileError {
        column: Some(error.column() as u64).filter(|column| *column > 0),
        ..FileError::new(ErrorCode::FileForm, path, message).at(line)
    }
    .help(if is_array {
        "write one JSON object per line, not in an array: jq -c '.[]' FILE"
    } else {
        "write one JSON object per line, without line breaks inside an object: jq -c . FILE"
    })
}

/// Returns the keys of one line and their raw values.
fn fields(text: &str) -> Result<JsonFields<'_>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let fields = reader.deserialize_map(LineVisitor)?;
    reader.end()?;
    Ok(fields)
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = JsonFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields: JsonFields<'de> = Vec::new();
        while let Some(key) = map.next_key::<FieldKey<'de>>()? {
            let key = key.0;
            // Lines have few keys, so a linear search is cheaper than building a set for each line.
            if fields.len() < MOST_COLUMNS && fields.iter().any(|(known, _)| *known == key) {
                return Err(A::Error::custom(format!("duplicate key {key:?}")));
            }
            fields.push((key, map.next_value()?));
        }
        Ok(fields)
    }
}

/// A key, borrowed unless it contains escapes.
#[derive(serde::Deserialize)]
struct FieldKey<'a>(#[serde(borrow)] Cow<'a, str>);
