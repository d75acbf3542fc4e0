//! Exports rows as JSON.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::float_text::float;
use super::keys::keys;
use super::row_format::RowFormat;
use super::{ExportError, ExportFormat};
use crate::rows::TruncationReason;
use crate::{Cell, ColumnInfo, RowSet};

/// Largest integer that every JSON reader preserves. Many readers, such as JavaScript's
/// `JSON.parse`, parse numbers as 64-bit floats (RFC 8259, section 6).
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Serializes rows in the format of the API: `{columns, rows, rowCount, truncated}`.
///
/// Each row is an object. If several columns share a name, the later ones get other keys (`id`,
/// `id_2`); `columns` contains the name and key of each column. If rows are missing, `truncatedBy`
/// is the name of the limit.
///
/// No digits of a number are lost. Decimals are strings. Integers beyond 2^53 - 1 are strings,
/// because many readers would round them. `NaN`, `Infinity` and `-Infinity` are strings, because
/// JSON cannot represent them. Bytes become base64 strings, and arrays become JSON arrays. JSON
/// values are embedded unchanged; invalid JSON, or JSON nested deeper than 128 levels, becomes a
/// string.
#[derive(Clone, Copy, Debug)]
pub struct AsJson<'a>(pub &'a RowSet);

/// Serializes rows like [`AsJson`], but `columns` lists only the keys. `columnInfo` contains the
/// objects that are in `columns` of [`AsJson`].
#[derive(Clone, Copy, Debug)]
pub struct NamedRows<'a>(pub &'a RowSet);

/// Returns rows as a JSON tree in the format of [`AsJson`]. Numbers inside embedded JSON become
/// 64-bit numbers here; [`AsJson`] preserves their digits.
#[must_use]
pub fn rows_json(rows: &RowSet) -> Value {
    // Serialization fails only for non-string keys or invalid embedded JSON, and neither occurs
    // here.
    serde_json::to_value(AsJson(rows)).unwrap_or_default()
}

/// Writes the document of [`AsJson`] incrementally. Fields that are known only at the end come
/// last.
pub(super) struct JsonDocument {
    keys: Vec<String>,
    count: usize,
}

impl JsonDocument {
    pub(super) fn begin(columns: &[ColumnInfo], out: &mut Vec<u8>) -> Result<Self, ExportError> {
        let keys = keys(columns);
        out.extend_from_slice(b"{\"columns\":");
        put(ExportFormat::Json, out, &columns_json(columns, &keys))?;
        out.extend_from_slice(b",\"rows\":[");
        Ok(JsonDocument { keys, count: 0 })
    }
}

impl RowFormat for JsonDocument {
    fn rows(&mut self, rows: Vec<Vec<Cell>>, out: &mut Vec<u8>) -> Result<(), ExportError> {
        let keys = &self.keys;
        for cells in &rows {
            if self.count > 0 {
                out.push(b',');
            }
            put(ExportFormat::Json, out, &RowJson { keys, cells })?;
            self.count += 1;
        }
        Ok(())
    }

    fn end(
        self: Box<Self>,
        truncated: Option<TruncationReason>,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let (count, cut) = (self.count, truncated.is_some());
        out.extend(format!("],\"rowCount\":{count},\"truncated\":{cut}").into_bytes());
        if let Some(limit) = truncated {
            out.extend_from_slice(b",\"truncatedBy\":");
            put(ExportFormat::Json, out, &limit)?;
        }
        out.push(b'}');
        Ok(())
    }
}

/// Writes one row per line, each with a line feed.
pub(super) struct JsonLines {
    keys: Vec<String>,
}

impl JsonLines {
    pub(super) fn begin(columns: &[ColumnInfo]) -> Self {
        JsonLines {
            keys: keys(columns),
        }
    }
}

impl RowFormat for JsonLines {
    fn rows(&mut self, rows: Vec<Vec<Cell>>, out: &mut Vec<u8>) -> Result<(), ExportError> {
        let keys = &self.keys;
        for cells in &rows {
            put(ExportFormat::Ndjson, out, &RowJson { keys, cells })?;
            out.push(b'\n');
        }
        Ok(())
    }

    /// Returns no bytes, because NDJSON does not have a footer.
    fn end(
        self: Box<Self>,
        _: Option<TruncationReason>,
        _: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        Ok(())
    }
}

fn put(format: ExportFormat, out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), ExportError> {
    serde_json::to_writer(out, value).map_err(|error| ExportError::new(format, error.to_string()))
}

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        whole(self.0, false, serializer)
    }
}

impl Serialize for NamedRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        whole(self.0, true, serializer)
    }
}

fn whole<S: Serializer>(rows: &RowSet, is_named: bool, serializer: S) -> Result<S::Ok, S::Error> {
    let keys = keys(&rows.columns);
    let mut out = serializer.serialize_struct("Rows", 6)?;
    let columns = columns_json(&rows.columns, &keys);
    if is_named {
        out.serialize_field("columns", &keys)?;
        out.serialize_field("columnInfo", &columns)?;
    } else {
        out.serialize_field("columns", &columns)?;
    }
    out.serialize_field("rows", &JsonRows(&keys, &rows.rows))?;
    out.serialize_field("rowCount", &rows.rows.len())?;
    out.serialize_field("truncated", &rows.truncated.is_some())?;
    if let Some(limit) = rows.truncated {
        out.serialize_field("truncatedBy", &limit)?;
    }
    out.end()
}

#[derive(serde::Serialize)]
struct ColumnJson<'a> {
    key: &'a str,
    #[serde(flatten)]
    column: &'a ColumnInfo,
}

fn columns_json<'a>(columns: &'a [ColumnInfo], keys: &'a [String]) -> Vec<ColumnJson<'a>> {
    let columns = columns.iter().zip(keys);
    columns
        .map(|(column, key)| ColumnJson { key, column })
        .collect()
}

/// Serializes rows as objects with these keys.
struct JsonRows<'a>(&'a [String], &'a [Vec<Cell>]);

impl Serialize for JsonRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let JsonRows(keys, rows) = *self;
        serializer.collect_seq(rows.iter().map(|cells| RowJson { keys, cells }))
    }
}

struct RowJson<'a> {
    keys: &'a [String],
    cells: &'a [Cell],
}

impl Serialize for RowJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(Some(self.keys.len()))?;
        for (key, cell) in self.keys.iter().zip(self.cells) {
            out.serialize_entry(key, &CellJson(cell))?;
        }
        out.end()
    }
}

/// Serializes one value.
pub(super) struct CellJson<'a>(pub(super) &'a Cell);

impl Serialize for CellJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Cell::Null => serializer.serialize_unit(),
            Cell::Bool(truth) => serializer.serialize_bool(*truth),
            Cell::Int(number) if number.unsigned_abs() > MAX_EXACT => {
                serializer.collect_str(number)
            }
            Cell::Int(number) => serializer.serialize_i64(*number),
            Cell::UInt(number) if *number > MAX_EXACT => serializer.collect_str(number),
            Cell::UInt(number) => serializer.serialize_u64(*number),
            Cell::Float(number) if number.is_finite() => serializer.serialize_f64(*number),
            Cell::Float(number) => serializer.serialize_str(&float(*number)),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Bytes(bytes) => serializer.serialize_str(&BASE64_STANDARD.encode(bytes)),
            Cell::Json(text) => match embedded(text) {
                Some(raw) => raw.serialize(serializer),
                None => serializer.serialize_str(text),
            },
            Cell::Array(cells) => serializer.collect_seq(cells.iter().map(CellJson)),
        }
    }
}

/// Returns valid JSON text on one line. Line ends are insignificant whitespace in JSON, but NDJSON
/// needs one line per row. The text is parsed as a tree first, which limits its depth and the size
/// of its numbers.
fn embedded(text: &str) -> Option<Box<RawValue>> {
    // The text is validated first, because raw values are copied into the output without further
    // checks.
    serde_json::from_str::<Value>(text).ok()?;
    RawValue::from_string(text.replace(['\n', '\r'], " ")).ok()
}
