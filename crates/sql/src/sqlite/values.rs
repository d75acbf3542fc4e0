//! Values as SQLite stores them, and names of their types.
//!
//! SQLite stores a type with each value instead of each column. Values are returned as stored; the
//! declared type of a column only states the intent. Computed columns do not have a declared type,
//! so their type comes from their values.

use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};

use crate::rows::{Cell, ColumnInfo, ValueType};

/// Words in a declared type, in order of precedence (see `sqlite.org/datatype3.html` for type
/// affinities).
const WORDS: [(&str, ValueType); 23] = [
    ("BOOL", ValueType::Boolean),
    ("TIMESTAMPTZ", ValueType::Instant),
    ("TIMESTAMP", ValueType::Timestamp),
    ("DATETIME", ValueType::Timestamp),
    ("INTERVAL", ValueType::Interval),
    ("DATE", ValueType::Date),
    ("TIME", ValueType::Time),
    ("POINT", ValueType::Other),
    ("INT", ValueType::Integer),
    ("UUID", ValueType::Uuid),
    ("GUID", ValueType::Uuid),
    ("JSON", ValueType::Json),
    ("DEC", ValueType::Decimal),
    ("NUMERIC", ValueType::Decimal),
    ("MONEY", ValueType::Decimal),
    ("CHAR", ValueType::Text),
    ("CLOB", ValueType::Text),
    ("TEXT", ValueType::Text),
    ("STRING", ValueType::Text),
    ("BLOB", ValueType::Binary),
    ("REAL", ValueType::Float),
    ("FLOA", ValueType::Float),
    ("DOUB", ValueType::Float),
];

/// Returns the value type that a declared type intends.
pub(super) fn declared_type(declared: &str) -> ValueType {
    let declared = declared.to_ascii_uppercase();
    let said = WORDS.iter().find(|(word, _)| declared.contains(word));
    said.map_or(ValueType::Other, |(_, meant)| *meant)
}

/// Returns the columns of a result. Computed columns do not have a type yet.
pub(super) fn columns(statement: &Statement<'_>) -> Vec<ColumnInfo> {
    let columns = statement.columns();
    let info = columns.map(|column| {
        let declared = column.decl_type().unwrap_or_default();
        ColumnInfo {
            name: column.name().to_owned(),
            data_type: declared.to_owned(),
            value_type: declared_type(declared),
        }
    });
    info.collect()
}

/// Sets the type of each column without one, if its values agree.
pub(super) fn name_types(columns: &mut [ColumnInfo], rows: &[Vec<Cell>]) {
    for (i, column) in columns.iter_mut().enumerate() {
        if !column.data_type.is_empty() {
            continue;
        }
        let values = rows.iter().filter_map(|row| row.get(i));
        let kinds = values.filter_map(kind);
        if let Some((name, value_type)) = kinds.reduce(both) {
            column.data_type = name.to_owned();
            column.value_type = value_type;
        }
    }
}

type TypeEntry = (&'static str, ValueType);

const REAL: TypeEntry = ("REAL", ValueType::Float);

fn kind(cell: &Cell) -> Option<TypeEntry> {
    match cell {
        Cell::Int(_) => Some(("INTEGER", ValueType::Integer)),
        Cell::Float(_) => Some(REAL),
        Cell::Text(_) => Some(("TEXT", ValueType::Text)),
        Cell::Bytes(_) => Some(("BLOB", ValueType::Binary)),
        _ => None,
    }
}

fn both(one: TypeEntry, other: TypeEntry) -> TypeEntry {
    // Mixed numbers are common, because `sum` returns an integer or a real depending on its rows.
    let numbers = [ValueType::Integer, ValueType::Float];
    match one == other {
        true => one,
        false if numbers.contains(&one.1) && numbers.contains(&other.1) => REAL,
        false => ("ANY", ValueType::Other),
    }
}

/// Returns the bytes of a row: texts and blobs count their length, other values eight bytes.
pub(super) fn row_size(row: &Row<'_>, width: usize) -> rusqlite::Result<usize> {
    let mut size = 0_usize;
    for i in 0..width {
        size += match row.get_ref(i)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len().max(8),
            _ => 8,
        };
    }
    Ok(size)
}

/// Returns the values of a row.
pub(super) fn row(row: &Row<'_>, width: usize) -> rusqlite::Result<Vec<Cell>> {
    (0..width).map(|i| Ok(cell(row.get_ref(i)?))).collect()
}

/// Returns a value as stored. Text that is not UTF-8 becomes bytes.
fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Real(number) => Cell::Float(number),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cell::Text(text.to_owned()),
            Err(_) => Cell::Bytes(bytes.to_owned()),
        },
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types_are_understood() {
        for (declared, expected) in [
            ("INTEGER", ValueType::Integer),
            ("bigint unsigned", ValueType::Integer),
            ("boolean", ValueType::Boolean),
            ("NVARCHAR(160)", ValueType::Text),
            ("NUMERIC(10,2)", ValueType::Decimal),
            ("decimal(10, 2)", ValueType::Decimal),
            ("DATETIME", ValueType::Timestamp),
            ("date", ValueType::Date),
            ("time", ValueType::Time),
            ("double precision", ValueType::Float),
            ("POINT", ValueType::Other),
            ("BLOB", ValueType::Binary),
            ("json", ValueType::Json),
            ("", ValueType::Other),
            ("geometry", ValueType::Other),
        ] {
            assert_eq!(declared_type(declared), expected, "{declared}");
        }
    }
}
