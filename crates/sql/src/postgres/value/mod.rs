//! Values as PostgreSQL sends them in binary, as cells that lose nothing of them.
//!
//! The common types are read here. Of any other the server is asked for its own text, by selecting
//! the query's columns with a cast ([`Reading::cast`]): a type that nobody knows is never an error.

mod number;
mod time;

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Kind as TypeKind, Type};

use crate::rows::{Cell, ValueType};
use crate::{DatabaseError, DatabaseErrorKind as Kind};

/// How the values of a column are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
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
    /// What functions give that give nothing.
    Void,
    Array(Box<Reading>),
    /// The server writes it as text.
    Other,
}

impl Reading {
    /// How values of a type are read.
    pub(super) fn of(type_: &Type) -> Reading {
        match type_.kind() {
            TypeKind::Array(element) => return Reading::Array(Box::new(Reading::of(element))),
            TypeKind::Domain(base) => return Reading::of(base),
            TypeKind::Enum(_) => return Reading::Text,
            _ => {}
        }
        match *type_ {
            Type::BOOL => Reading::Bool,
            Type::INT2 | Type::INT4 | Type::INT8 => Reading::Int,
            Type::OID => Reading::Oid,
            Type::FLOAT4 | Type::FLOAT8 => Reading::Float,
            Type::NUMERIC => Reading::Numeric,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::XML | Type::UNKNOWN => {
                Reading::Text
            }
            Type::CHAR => Reading::Char,
            Type::JSON => Reading::Json,
            Type::JSONB => Reading::Jsonb,
            Type::BYTEA => Reading::Bytea,
            Type::DATE => Reading::Date,
            Type::TIME => Reading::Time,
            Type::TIMESTAMP => Reading::Timestamp,
            Type::TIMESTAMPTZ => Reading::Instant,
            Type::INTERVAL => Reading::Interval,
            Type::UUID => Reading::Uuid,
            Type::VOID => Reading::Void,
            _ if type_.name() == "citext" => Reading::Text,
            _ => Reading::Other,
        }
    }

    /// What its values are.
    pub(super) fn value_type(&self) -> ValueType {
        match self {
            Reading::Bool => ValueType::Boolean,
            Reading::Int | Reading::Oid => ValueType::Integer,
            Reading::Float => ValueType::Float,
            Reading::Numeric => ValueType::Decimal,
            Reading::Text | Reading::Char => ValueType::Text,
            Reading::Json | Reading::Jsonb => ValueType::Json,
            Reading::Bytea => ValueType::Binary,
            Reading::Date => ValueType::Date,
            Reading::Time => ValueType::Time,
            Reading::Timestamp => ValueType::Timestamp,
            Reading::Instant => ValueType::Instant,
            Reading::Interval => ValueType::Interval,
            Reading::Uuid => ValueType::Uuid,
            Reading::Array(_) => ValueType::Array,
            Reading::Void | Reading::Other => ValueType::Other,
        }
    }

    /// What the server has to be asked to make of the column; `None` where it is read as it is.
    pub(super) fn cast(&self) -> Option<&'static str> {
        match self {
            Reading::Other => Some("::pg_catalog.text"),
            Reading::Array(element) => element.cast().map(|_| "::pg_catalog.text[]"),
            _ => None,
        }
    }

    /// The value that these bytes are; `None` if they are not of this type.
    fn cell(&self, bytes: &[u8]) -> Option<Cell> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(match self {
            Reading::Bool => Cell::Bool(*bytes.first()? != 0),
            Reading::Int => Cell::Int(number::integer(bytes)?),
            Reading::Oid => Cell::Int(u32::from_be_bytes(bytes.try_into().ok()?).into()),
            Reading::Float => Cell::Float(number::float(bytes)?),
            Reading::Numeric => Cell::Text(number::numeric(bytes)?),
            Reading::Text | Reading::Other => Cell::Text(text(bytes)?),
            Reading::Char => Cell::Text(char(*bytes.first()?)),
            Reading::Json => Cell::Json(text(bytes)?),
            // The first byte is the version of the format, 1.
            Reading::Jsonb => Cell::Json(text(bytes.strip_prefix(&[1])?)?),
            Reading::Bytea => Cell::Bytes(bytes.to_vec()),
            Reading::Date => Cell::Text(time::date(bytes)?),
            Reading::Time => Cell::Text(time::time(bytes)?),
            Reading::Timestamp => Cell::Text(time::timestamp(bytes, "")?),
            Reading::Instant => Cell::Text(time::timestamp(bytes, "Z")?),
            Reading::Interval => Cell::Text(time::interval(bytes)?),
            Reading::Uuid => Cell::Text(uuid(bytes.try_into().ok()?)),
            Reading::Void => Cell::Text(String::new()),
            Reading::Array(element) => array(bytes, element)?,
        })
    }
}

/// The bytes of a value, whatever its type.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The cells of a row.
///
/// # Errors
/// The server sent bytes that are not of the type it announced.
pub(super) fn row(row: &Row, readings: &[Reading]) -> Result<Vec<Cell>, DatabaseError> {
    let mut cells = Vec::with_capacity(readings.len());
    for (i, reading) in readings.iter().enumerate() {
        let bytes: Option<Raw<'_>> = row.try_get(i).map_err(|error| super::error::of(&error))?;
        cells.push(match bytes {
            None => Cell::Null,
            Some(Raw(bytes)) => reading.cell(bytes).ok_or_else(|| malformed(row, i))?,
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
        format!("column {} is of type {type_}, and its value is not", i + 1),
    )
}

/// The byte of a `"char"` as PostgreSQL writes it: nothing for 0, `\ooo` above ASCII.
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

/// A cursor over the bytes of a value.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn i16(&mut self) -> Option<i16> {
        Some(i16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn i32(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn i64(&mut self) -> Option<i64> {
        Some(i64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }
}

/// An array: its dimensions, then its elements, the last dimension running fastest
/// (`array_send` in PostgreSQL).
fn array(bytes: &[u8], element: &Reading) -> Option<Cell> {
    let mut bytes = Bytes(bytes);
    let count = usize::try_from(bytes.i32()?)
        .ok()
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

/// Six levels at most, and each element takes four bytes or more: neither stack nor time can be
/// made to run away.
fn dimension(bytes: &mut Bytes<'_>, lengths: &[usize], element: &Reading) -> Option<Cell> {
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
        assert_eq!(array(&bytes, &Reading::Bool), Some(expected));
        assert_eq!(
            array(&header(&[]), &Reading::Bool),
            Some(Cell::Array(vec![]))
        );
    }

    #[test]
    fn arrays_that_lie_about_themselves_are_no_values() {
        for lengths in [&[i32::MAX, i32::MAX][..], &[-1], &[1; 7], &[3]] {
            assert_eq!(array(&header(lengths), &Reading::Bool), None, "{lengths:?}");
        }
        // Two thousand million empty rows would take a while.
        let empty = array(&header(&[i32::MAX, 0]), &Reading::Bool);
        assert_eq!(empty, Some(Cell::Array(vec![])));
    }

    #[test]
    fn no_bytes_make_any_reading_panic() {
        let all = [
            Reading::Bool,
            Reading::Int,
            Reading::Oid,
            Reading::Float,
            Reading::Numeric,
            Reading::Text,
            Reading::Char,
            Reading::Json,
            Reading::Jsonb,
            Reading::Bytea,
            Reading::Date,
            Reading::Time,
            Reading::Timestamp,
            Reading::Instant,
            Reading::Interval,
            Reading::Uuid,
            Reading::Void,
            Reading::Array(Box::new(Reading::Numeric)),
            Reading::Other,
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
