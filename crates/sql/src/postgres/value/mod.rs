//! Decodes PostgreSQL's binary values into cells without loss.
//!
//! Common types are decoded here. For any other type, the query's columns are selected with a cast
//! to text ([`ValueDecoder::cast`]), so an unknown type is never an error.

mod bytes;
mod number;
mod time;

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Kind as TypeKind, Type};

use self::bytes::Bytes;
use crate::rows::{Cell, ValueType};
use crate::{DatabaseError, DatabaseErrorKind as Kind};

/// Decoder for the values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueDecoder {
    Bool,
    Int,
    Oid,
    Float,
    Numeric,
    Text,
    /// The type `"char"`: one byte.
    Char,
    Json,
    Jsonb,
    Bytea,
    Date,
    Time,
    Timestamp,
    Instant,
    Interval,
    Uuid,
    /// The result type of functions that return nothing.
    Void,
    Array(Box<ValueDecoder>),
    /// Any other type, which the server converts to text.
    Other,
}

impl ValueDecoder {
    /// Returns the decoder for a type.
    pub(super) fn of(type_: &Type) -> ValueDecoder {
        match type_.kind() {
            TypeKind::Array(element) => {
                return ValueDecoder::Array(Box::new(ValueDecoder::of(element)));
            }
            TypeKind::Domain(base) => return ValueDecoder::of(base),
            TypeKind::Enum(_) => return ValueDecoder::Text,
            _ => {}
        }
        match *type_ {
            Type::BOOL => ValueDecoder::Bool,
            Type::INT2 | Type::INT4 | Type::INT8 => ValueDecoder::Int,
            Type::OID => ValueDecoder::Oid,
            Type::FLOAT4 | Type::FLOAT8 => ValueDecoder::Float,
            Type::NUMERIC => ValueDecoder::Numeric,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::XML | Type::UNKNOWN => {
                ValueDecoder::Text
            }
            Type::CHAR => ValueDecoder::Char,
            Type::JSON => ValueDecoder::Json,
            Type::JSONB => ValueDecoder::Jsonb,
            Type::BYTEA => ValueDecoder::Bytea,
            Type::DATE => ValueDecoder::Date,
            Type::TIME => ValueDecoder::Time,
            Type::TIMESTAMP => ValueDecoder::Timestamp,
            Type::TIMESTAMPTZ => ValueDecoder::Instant,
            Type::INTERVAL => ValueDecoder::Interval,
            Type::UUID => ValueDecoder::Uuid,
            Type::VOID => ValueDecoder::Void,
            _ if type_.name() == "citext" => ValueDecoder::Text,
            _ => ValueDecoder::Other,
        }
    }

    /// Returns the value type of its cells.
    pub(super) fn value_type(&self) -> ValueType {
        match self {
            ValueDecoder::Bool => ValueType::Boolean,
            ValueDecoder::Int | ValueDecoder::Oid => ValueType::Integer,
            ValueDecoder::Float => ValueType::Float,
            ValueDecoder::Numeric => ValueType::Decimal,
            ValueDecoder::Text | ValueDecoder::Char => ValueType::Text,
            ValueDecoder::Json | ValueDecoder::Jsonb => ValueType::Json,
            ValueDecoder::Bytea => ValueType::Binary,
            ValueDecoder::Date => ValueType::Date,
            ValueDecoder::Time => ValueType::Time,
            ValueDecoder::Timestamp => ValueType::Timestamp,
            ValueDecoder::Instant => ValueType::Instant,
            ValueDecoder::Interval => ValueType::Interval,
            ValueDecoder::Uuid => ValueType::Uuid,
            ValueDecoder::Array(_) => ValueType::Array,
            ValueDecoder::Void | ValueDecoder::Other => ValueType::Other,
        }
    }

    /// Returns the cast that the query needs for the column, if any.
    pub(super) fn cast(&self) -> Option<&'static str> {
        match self {
            ValueDecoder::Other => Some("::pg_catalog.text"),
            ValueDecoder::Array(element) => element.cast().map(|_| "::pg_catalog.text[]"),
            _ => None,
        }
    }

    /// Decodes a value; `None` if the bytes are invalid for the type.
    fn cell(&self, bytes: &[u8]) -> Option<Cell> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(match self {
            ValueDecoder::Bool => Cell::Bool(*bytes.first()? != 0),
            ValueDecoder::Int => Cell::Int(number::integer(bytes)?),
            ValueDecoder::Oid => Cell::Int(u32::from_be_bytes(bytes.try_into().ok()?).into()),
            ValueDecoder::Float => Cell::Float(number::float(bytes)?),
            ValueDecoder::Numeric => Cell::Text(number::numeric(bytes)?),
            ValueDecoder::Text | ValueDecoder::Other => Cell::Text(text(bytes)?),
            ValueDecoder::Char => Cell::Text(char(*bytes.first()?)),
            ValueDecoder::Json => Cell::Json(text(bytes)?),
            // The first byte is the format version, 1.
            ValueDecoder::Jsonb => Cell::Json(text(bytes.strip_prefix(&[1])?)?),
            ValueDecoder::Bytea => Cell::Bytes(bytes.to_vec()),
            ValueDecoder::Date => Cell::Text(time::date(bytes)?),
            ValueDecoder::Time => Cell::Text(time::time(bytes)?),
            ValueDecoder::Timestamp => Cell::Text(time::timestamp(bytes, "")?),
            ValueDecoder::Instant => Cell::Text(time::timestamp(bytes, "Z")?),
            ValueDecoder::Interval => Cell::Text(time::interval(bytes)?),
            ValueDecoder::Uuid => Cell::Text(uuid(bytes.try_into().ok()?)),
            ValueDecoder::Void => Cell::Text(String::new()),
            ValueDecoder::Array(element) => array(bytes, element)?,
        })
    }
}

/// Raw bytes of a value of any type.
struct RawBytes<'a>(&'a [u8]);

impl<'a> FromSql<'a> for RawBytes<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(RawBytes(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Decodes the cells of a row.
///
/// # Errors
/// Fails if the bytes are invalid for the declared type.
pub(super) fn row(row: &Row, readings: &[ValueDecoder]) -> Result<Vec<Cell>, DatabaseError> {
    let mut cells = Vec::with_capacity(readings.len());
    for (i, reading) in readings.iter().enumerate() {
        let bytes: Option<RawBytes<'_>> =
            row.try_get(i).map_err(|error| super::error::of(&error))?;
        cells.push(match bytes {
            None => Cell::Null,
            Some(RawBytes(bytes)) => reading.cell(bytes).ok_or_else(|| malformed(row, i))?,
        });
    }
    Ok(cells)
}

fn malformed(row: &Row, i: usize) -> DatabaseError {
    let type_ = row
        .columns()
        .get(i)
        .map_or("?", |column| column.type_().name());
    DatabaseError::new(
        Kind::Failed,
        format!(
            "invalid value in column {}: the server sent bytes that are not of type {type_}",
            i + 1
        ),
    )
}

/// Formats a `"char"` like PostgreSQL does: empty for 0, `\ooo` above ASCII.
fn char(byte: u8) -> String {
    match byte {
        0 => String::new(),
        1..0x80 => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    }
}

fn uuid(bytes: [u8; 16]) -> String {
    let n = u128::from_be_bytes(bytes);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        n >> 96,
        n >> 80 & 0xFFFF,
        n >> 64 & 0xFFFF,
        n >> 48 & 0xFFFF,
        n & 0xFFFF_FFFF_FFFF
    )
}

/// Decodes an array: its dimensions, then its elements in row-major order (`array_send` in
/// PostgreSQL).
fn array(bytes: &[u8], element: &ValueDecoder) -> Option<Cell> {
    let mut bytes = Bytes(bytes);
    let count = usize::try_from(bytes.i32()?)
        .ok()
        // PostgreSQL has at most six dimensions (MAXDIM).
        .filter(|count| *count <= 6)?;
    let (_has_nulls, _element_type) = (bytes.i32()?, bytes.i32()?);
    let mut lengths = Vec::with_capacity(count);
    for _ in 0..count {
        lengths.push(usize::try_from(bytes.i32()?).ok()?);
        let _first_index = bytes.i32()?;
    }
    if lengths.is_empty() || lengths.contains(&0) {
        return Some(Cell::Array(Vec::new()));
    }
    dimension(&mut bytes, &lengths, element)
}

/// Decodes one dimension. Six levels and at least four bytes for each element bound the stack and
/// the time.
fn dimension(bytes: &mut Bytes<'_>, lengths: &[usize], element: &ValueDecoder) -> Option<Cell> {
    let Some((length, inner)) = lengths.split_first() else {
        let size = bytes.i32()?;
        return match size {
            -1 => Some(Cell::Null),
            _ => element.cell(bytes.take(usize::try_from(size).ok()?)?),
        };
    };
    let items: Option<Vec<Cell>> = (0..*length)
        .map(|_| dimension(bytes, inner, element))
        .collect();
    items.map(Cell::Array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(lengths: &[i32]) -> Vec<u8> {
        let mut bytes = i32::try_from(lengths.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend([0; 8]);
        for length in lengths {
            bytes.extend(length.to_be_bytes());
            bytes.extend(1_i32.to_be_bytes());
        }
        bytes
    }

    #[test]
    fn arrays_have_dimensions_and_nulls() {
        let mut bytes = header(&[2, 1]);
        bytes.extend([0, 0, 0, 1, 1, 0xFF, 0xFF, 0xFF, 0xFF]);
        let row = |cell| Cell::Array(vec![cell]);
        let expected = Cell::Array(vec![row(Cell::Bool(true)), row(Cell::Null)]);
        assert_eq!(array(&bytes, &ValueDecoder::Bool), Some(expected));
        assert_eq!(
            array(&header(&[]), &ValueDecoder::Bool),
            Some(Cell::Array(vec![]))
        );
    }

    #[test]
    fn arrays_that_lie_about_themselves_are_no_values() {
        for lengths in [&[i32::MAX, i32::MAX][..], &[-1], &[1; 7], &[3]] {
            assert_eq!(
                array(&header(lengths), &ValueDecoder::Bool),
                None,
                "{lengths:?}"
            );
        }
        // Two billion empty rows would take a long time.
        let empty = array(&header(&[i32::MAX, 0]), &ValueDecoder::Bool);
        assert_eq!(empty, Some(Cell::Array(vec![])));
    }

    #[test]
    fn no_bytes_make_any_reading_panic() {
        let all = [
            ValueDecoder::Bool,
            ValueDecoder::Int,
            ValueDecoder::Oid,
            ValueDecoder::Float,
            ValueDecoder::Numeric,
            ValueDecoder::Text,
            ValueDecoder::Char,
            ValueDecoder::Json,
            ValueDecoder::Jsonb,
            ValueDecoder::Bytea,
            ValueDecoder::Date,
            ValueDecoder::Time,
            ValueDecoder::Timestamp,
            ValueDecoder::Instant,
            ValueDecoder::Interval,
            ValueDecoder::Uuid,
            ValueDecoder::Void,
            ValueDecoder::Array(Box::new(ValueDecoder::Numeric)),
            ValueDecoder::Other,
        ];
        for reading in &all {
            for length in 0..40 {
                for byte in [0, 1, 0x7F, 0x80, 0xFF] {
                    let _ = reading.cell(&vec![byte; length]);
                }
            }
        }
    }
}
