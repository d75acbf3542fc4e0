//! Rows as a database gave them, with exact values.

use serde::Serialize;

/// The type of a value, whatever the database calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// True or false.
    Boolean,
    /// A whole number.
    Integer,
    /// A binary floating-point number.
    Float,
    /// A decimal number; its digits are kept as text.
    Decimal,
    /// Text.
    Text,
    /// Bytes.
    Binary,
    /// A day: `2026-11-22`.
    Date,
    /// A time of day: `13:45:00.5`.
    Time,
    /// A day and a time without a zone: `2026-11-22T13:45:00`.
    Timestamp,
    /// An instant, in UTC: `2026-11-22T13:45:00Z`.
    Instant,
    /// A span of time as the database writes it.
    Interval,
    /// A UUID.
    Uuid,
    /// JSON.
    Json,
    /// An array of the above.
    Array,
    /// Anything else, as the database's own text.
    Other,
}

/// One value. Texts of dates, times, decimals and the like are in the form of [`ValueType`].
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above `i64::MAX` (MySQL's unsigned).
    UInt(u64),
    /// A floating-point number; may be infinite or not a number.
    Float(f64),
    /// Text, or anything that is written as text: see the column's [`ValueType`].
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// JSON as the database's text.
    Json(String),
    /// An array.
    Array(Vec<Cell>),
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ColumnInfo {
    /// Its name as the query gave it; may appear more than once.
    pub name: String,
    /// The database's name of its type.
    pub data_type: String,
    /// What its values are. SQLite's columns may hold other values as well.
    #[serde(rename = "type")]
    pub value_type: ValueType,
}

/// The limit that cut rows off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TruncationReason {
    /// There were more rows than may be read.
    Rows,
    /// There were more bytes than may be read.
    Bytes,
}

impl TruncationReason {
    /// Its name, as in answers.
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
    /// Set if rows were cut off because of a limit of ours: never because the query's own LIMIT
    /// ended it.
    pub truncated: Option<TruncationReason>,
}
