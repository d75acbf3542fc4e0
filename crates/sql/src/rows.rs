//! Rows of a query result, with exact values.

use serde::Serialize;

/// Type of a value, independent of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// A boolean.
    Boolean,
    /// An integer.
    Integer,
    /// A binary floating-point number.
    Float,
    /// A decimal number, stored as text.
    Decimal,
    /// Text.
    Text,
    /// Bytes.
    Binary,
    /// A date: `2026-11-22`.
    Date,
    /// A time of day: `13:45:00.5`.
    Time,
    /// A date and time without a zone: `2026-11-22T13:45:00`.
    Timestamp,
    /// An instant, in UTC: `2026-11-22T13:45:00Z`.
    Instant,
    /// An interval in the database's notation.
    Interval,
    /// A UUID.
    Uuid,
    /// JSON.
    Json,
    /// An array of any of these types.
    Array,
    /// Any other type, as text from the database.
    Other,
}

/// A value. Dates, times, decimals and similar values are strings in the format that [`ValueType`]
/// documents.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above `i64::MAX` (MySQL's unsigned).
    UInt(u64),
    /// A floating-point number; may be infinite or NaN.
    Float(f64),
    /// Text, or another type in text form; see the column's [`ValueType`].
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// JSON as text from the database.
    Json(String),
    /// An array.
    Array(Vec<Cell>),
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ColumnInfo {
    /// Column name from the query. Several columns can have the same name.
    pub name: String,
    /// Type name in the database.
    pub data_type: String,
    /// Type of the column's values. In SQLite, a column can also contain values of other types.
    #[serde(rename = "type")]
    pub value_type: ValueType,
}

/// The limit because of which rows are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TruncationReason {
    /// The row limit was exceeded.
    Rows,
    /// The byte limit was exceeded.
    Bytes,
}

impl TruncationReason {
    /// Returns the name used in replies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TruncationReason::Rows => "rows",
            TruncationReason::Bytes => "bytes",
        }
    }
}

/// The result of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowSet {
    /// Columns, in order.
    pub columns: Vec<ColumnInfo>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// The limit because of which rows are missing, if any. A LIMIT in the query itself does not
    /// count.
    pub truncated: Option<TruncationReason>,
}
