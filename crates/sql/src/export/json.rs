//! Rows as JSON.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::keys::keys;
use super::text::float;
use crate::{Cell, ColumnInfo, Rows};

/// The largest whole number that every reader of JSON takes as it is: they read numbers as
/// 64-bit floats (RFC 8259, section 6), JavaScript's `JSON.parse` among them.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Rows as the API gives them out: `{columns, rows, rowCount, truncated}`.
///
/// A row is an object. Where two columns have one name, the later ones have other keys
/// (`id`, `id_2`), and `columns` says the name and the key of each. `truncatedBy` says which limit
/// cut rows off.
///
/// No digit is lost: decimals are texts, whole numbers are texts beyond 2^53 - 1, which many readers
/// would round, and so are `NaN`, `Infinity` and `-Infinity`, for which JSON has no numbers.
/// Bytes are base64, arrays are arrays. JSON is embedded as it stands; a text that is none, or
/// nested deeper than 128 levels, is a text.
#[derive(Clone, Copy, Debug)]
pub struct AsJson<'a>(pub &'a Rows);

/// The same as a tree. Numbers inside embedded JSON are 64-bit ones here, as in every such
/// tree; [`AsJson`] keeps their digits.
#[must_use]
pub fn rows_json(rows: &Rows) -> Value {
    // Only a key that is no text, or embedded JSON that is none, could fail.
    serde_json::to_value(AsJson(rows)).unwrap_or_default()
}

pub(super) fn document(rows: &Rows) -> Vec<u8> {
    // Writing to memory does not fail, and neither do these values.
    serde_json::to_vec(&AsJson(rows)).unwrap_or_default()
}

/// A row a line, each with a line feed.
pub(super) fn lines(rows: &Rows) -> Vec<u8> {
    let keys = keys(&rows.columns);
    let mut out = Vec::new();
    for cells in &rows.rows {
        let row = RowJson { keys: &keys, cells };
        if serde_json::to_writer(&mut out, &row).is_ok() {
            out.push(b'\n');
        }
    }
    out
}

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AsJson(rows) = self;
        let keys = keys(&rows.columns);
        let mut out = serializer.serialize_struct("Rows", 5)?;
        let columns = rows.columns.iter().zip(&keys);
        let columns: Vec<ColumnJson<'_>> = columns
            .map(|(column, key)| ColumnJson { key, column })
            .collect();
        out.serialize_field("columns", &columns)?;
        out.serialize_field("rows", &List(&keys, &rows.rows))?;
        out.serialize_field("rowCount", &rows.rows.len())?;
        out.serialize_field("truncated", &rows.truncated.is_some())?;
        if let Some(limit) = rows.truncated {
            out.serialize_field("truncatedBy", &limit)?;
        }
        out.end()
    }
}

#[derive(serde::Serialize)]
struct ColumnJson<'a> {
    key: &'a str,
    #[serde(flatten)]
    column: &'a ColumnInfo,
}

/// Rows under keys.
struct List<'a>(&'a [String], &'a [Vec<Cell>]);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let List(keys, rows) = *self;
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

/// One value.
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

/// A text that is JSON, on one line: line ends are only space there, and a row of NDJSON is
/// one line. Read as a tree first, which bounds its depth and the size of its numbers.
fn embedded(text: &str) -> Option<Box<RawValue>> {
    serde_json::from_str::<Value>(text).ok()?;
    RawValue::from_string(text.replace(['\n', '\r'], " ")).ok()
}
