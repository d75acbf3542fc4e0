//! Converts values of the binary protocol to exact cells.
//!
//! The server sends `TIMESTAMP` in the session's time zone, which is the server's. Other clients
//! show the same time, and `NOW()` and `CURDATE()` use it too. It therefore becomes a time without
//! a zone, like `DATETIME`. `TIME` ranges from -838 to 838 hours and is an interval, not a time of
//! day. MariaDB's `JSON` is `LONGTEXT`, so it is text here as well.

use mysql_async::consts::{ColumnFlags, ColumnType};
use mysql_async::{Column, Value};

use crate::rows::{Cell, ColumnInfo, ValueType};

/// Number of the character set for binary data.
const BINARY: u16 = 63;

/// Conversion of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueShape {
    Text,
    Binary,
    Json,
    /// Up to 64 bits, most significant byte first.
    Bits,
    /// A date, with or without a time of day.
    Date,
    DateTime,
    /// Any type with its own representation in the protocol.
    Plain,
}

/// A column and its conversion.
#[derive(Debug)]
pub(super) struct ColumnReader {
    pub(super) info: ColumnInfo,
    shape: ValueShape,
}

impl ColumnReader {
    pub(super) fn of(column: &Column) -> Self {
        let (data_type, value_type, shape) = kind(column);
        ColumnReader {
            info: ColumnInfo {
                name: column.name_str().into_owned(),
                data_type: data_type.to_owned(),
                value_type,
            },
            shape,
        }
    }

    /// Converts a value to a cell.
    pub(super) fn cell(&self, value: Value) -> Cell {
        match value {
            Value::NULL => Cell::Null,
            Value::Bytes(bytes) => self.bytes(bytes),
            Value::Int(number) => Cell::Int(number),
            Value::UInt(number) => Cell::UInt(number),
            Value::Float(number) => Cell::Float(widened(number)),
            Value::Double(number) => Cell::Float(number),
            Value::Date(year, month, day, hour, minute, second, micros) => {
                let day = format!("{year:04}-{month:02}-{day:02}");
                Cell::Text(match self.shape {
                    ValueShape::Date => day,
                    _ => format!(
                        "{day}T{hour:02}:{minute:02}:{second:02}{}",
                        fraction(micros)
                    ),
                })
            }
            Value::Time(is_negative, days, hours, minutes, seconds, micros) => {
                let sign = if is_negative { "-" } else { "" };
                let hours = u64::from(days) * 24 + u64::from(hours);
                let fraction = fraction(micros);
                Cell::Text(format!(
                    "{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}"
                ))
            }
        }
    }

    fn bytes(&self, bytes: Vec<u8>) -> Cell {
        match self.shape {
            ValueShape::Binary => Cell::Bytes(bytes),
            ValueShape::Bits if bytes.len() <= 8 => {
                let number = bytes
                    .iter()
                    .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                i64::try_from(number).map_or(Cell::UInt(number), Cell::Int)
            }
            shape => match String::from_utf8(bytes) {
                Ok(text) if shape == ValueShape::Json => Cell::Json(text),
                Ok(text) => Cell::Text(text),
                // Text that is not UTF-8 becomes bytes.
                Err(error) => Cell::Bytes(error.into_bytes()),
            },
        }
    }
}

/// Returns the number of bytes that a value counts for.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::NULL => 1,
        Value::Bytes(bytes) => bytes.len(),
        _ => 8,
    }
}

/// Converts a FLOAT to its shortest decimal form: 0.1 instead of 0.10000000149.
fn widened(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

/// Formats fractional seconds such as `.5`; empty for a whole second.
fn fraction(micros: u32) -> String {
    if micros == 0 {
        return String::new();
    }
    format!(".{micros:06}").trim_end_matches('0').to_owned()
}

fn kind(column: &Column) -> (&'static str, ValueType, ValueShape) {
    use ColumnType as T;
    let is_unsigned = column.flags().contains(ColumnFlags::UNSIGNED_FLAG);
    let integer = |signed, unsigned| {
        let name = if is_unsigned { unsigned } else { signed };
        (name, ValueType::Integer, ValueShape::Plain)
    };
    match column.column_type() {
        T::MYSQL_TYPE_TINY => integer("tinyint", "tinyint unsigned"),
        T::MYSQL_TYPE_SHORT => integer("smallint", "smallint unsigned"),
        T::MYSQL_TYPE_INT24 => integer("mediumint", "mediumint unsigned"),
        T::MYSQL_TYPE_LONG => integer("int", "int unsigned"),
        T::MYSQL_TYPE_LONGLONG => integer("bigint", "bigint unsigned"),
        T::MYSQL_TYPE_YEAR => integer("year", "year"),
        T::MYSQL_TYPE_BIT => ("bit", ValueType::Integer, ValueShape::Bits),
        T::MYSQL_TYPE_FLOAT => ("float", ValueType::Float, ValueShape::Plain),
        T::MYSQL_TYPE_DOUBLE => ("double", ValueType::Float, ValueShape::Plain),
        T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL => {
            ("decimal", ValueType::Decimal, ValueShape::Text)
        }
        T::MYSQL_TYPE_DATE | T::MYSQL_TYPE_NEWDATE => ("date", ValueType::Date, ValueShape::Date),
        T::MYSQL_TYPE_TIME | T::MYSQL_TYPE_TIME2 => {
            ("time", ValueType::Interval, ValueShape::Plain)
        }
        T::MYSQL_TYPE_DATETIME | T::MYSQL_TYPE_DATETIME2 => {
            ("datetime", ValueType::Timestamp, ValueShape::DateTime)
        }
        T::MYSQL_TYPE_TIMESTAMP | T::MYSQL_TYPE_TIMESTAMP2 => {
            ("timestamp", ValueType::Timestamp, ValueShape::DateTime)
        }
        T::MYSQL_TYPE_JSON => ("json", ValueType::Json, ValueShape::Json),
        T::MYSQL_TYPE_GEOMETRY => ("geometry", ValueType::Binary, ValueShape::Binary),
        T::MYSQL_TYPE_VECTOR => ("vector", ValueType::Binary, ValueShape::Binary),
        T::MYSQL_TYPE_NULL => ("null", ValueType::Other, ValueShape::Text),
        _ => string(column),
    }
}

/// Distinguishes text from binary columns, and returns the type's name.
fn string(column: &Column) -> (&'static str, ValueType, ValueShape) {
    use ColumnType as T;
    let flags = column.flags();
    let is_enum =
        flags.contains(ColumnFlags::ENUM_FLAG) || column.column_type() == T::MYSQL_TYPE_ENUM;
    let is_set = flags.contains(ColumnFlags::SET_FLAG) || column.column_type() == T::MYSQL_TYPE_SET;
    if is_enum || is_set {
        let name = if is_enum { "enum" } else { "set" };
        return (name, ValueType::Text, ValueShape::Text);
    }
    let (text, binary) = match column.column_type() {
        T::MYSQL_TYPE_STRING => ("char", "binary"),
        T::MYSQL_TYPE_VARCHAR | T::MYSQL_TYPE_VAR_STRING => ("varchar", "varbinary"),
        _ => ("text", "blob"),
    };
    match column.character_set() {
        BINARY => (binary, ValueType::Binary, ValueShape::Binary),
        _ => (text, ValueType::Text, ValueShape::Text),
    }
}
