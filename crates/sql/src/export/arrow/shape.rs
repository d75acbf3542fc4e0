//! Infers the Arrow type of a column from its values.

use std::sync::Arc;

use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, TimeUnit};

use crate::export::values::{self, Digits};
use crate::rows::ValueType;
use crate::{Cell, ColumnInfo};

/// Maximum integer up to which a 64-bit float represents every integer exactly.
const MAX_EXACT: u64 = 1 << 53;

/// Number of digits that are enough for every 64-bit integer.
const INTEGER_DIGITS: usize = 20;

/// Common type of a column's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Boolean,
    /// Integers, with their range.
    Integer {
        /// Whether any value is negative.
        negative: bool,
        /// Whether any value exceeds `i64::MAX`.
        large: bool,
        /// Whether a 64-bit float represents all values exactly.
        small: bool,
    },
    Float,
    /// A decimal, with the maximum digits before and after the point.
    Decimal {
        whole: usize,
        fraction: usize,
    },
    Date,
    Time,
    Timestamp,
    Instant,
    Binary,
    Text,
    /// An array; `None` if no element was seen.
    List(Option<Box<ColumnKind>>),
}

impl ColumnKind {
    /// Infers the common type of the values, or uses the declared type if there are none.
    pub(super) fn of<'a>(column: &ColumnInfo, cells: impl Iterator<Item = &'a Cell>) -> ColumnKind {
        let declared = match column.value_type {
            ValueType::Decimal => declared_decimal(&column.data_type),
            _ => None,
        };
        let found = common(cells, column.value_type);
        match (declared, found) {
            (Some(declared), Some(found)) => declared.with(found),
            (declared, found) => declared
                .or(found)
                .unwrap_or_else(|| ColumnKind::by_type(column.value_type)),
        }
    }

    /// Widens the type for later rows, as far as the declared type suggests: large unsigned
    /// integers, and decimals with more digits before the point. Without any value, the number of
    /// decimal places is unknown, so such a column becomes text.
    pub(super) fn with_room(self, column: &ColumnInfo, has_values: bool) -> ColumnKind {
        match self {
            ColumnKind::Integer {
                negative: false,
                small,
                ..
            } if column.data_type == "bigint unsigned" => ColumnKind::Integer {
                negative: false,
                large: true,
                small,
            },
            ColumnKind::Decimal { whole, fraction }
                if declared_decimal(&column.data_type).is_none() =>
            {
                if !has_values {
                    return ColumnKind::Text;
                }
                let digits = [DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION].map(usize::from);
                let fitting = digits.into_iter().find(|most| whole + fraction <= *most);
                ColumnKind::Decimal {
                    whole: fitting.map_or(whole, |most| most - fraction),
                    fraction,
                }
            }
            ColumnKind::List(None) => ColumnKind::List(Some(Box::new(ColumnKind::Text))),
            shape => shape,
        }
    }

    /// Returns whether a column of this type can represent the value unchanged.
    pub(super) fn holds(&self, cell: &Cell, kind: ValueType) -> bool {
        if *self == ColumnKind::Text {
            return true;
        }
        let Some(shape) = ColumnKind::of_cell(cell, kind) else {
            return true;
        };
        shape == *self || self.clone().with(shape).data_type() == self.data_type()
    }

    fn by_type(kind: ValueType) -> ColumnKind {
        match kind {
            ValueType::Boolean => ColumnKind::Boolean,
            ValueType::Integer => INTEGER,
            ValueType::Float => ColumnKind::Float,
            ValueType::Decimal => ColumnKind::Decimal {
                whole: DECIMAL128_MAX_PRECISION.into(),
                fraction: 0,
            },
            ValueType::Binary => ColumnKind::Binary,
            ValueType::Date => ColumnKind::Date,
            ValueType::Time => ColumnKind::Time,
            ValueType::Timestamp => ColumnKind::Timestamp,
            ValueType::Instant => ColumnKind::Instant,
            ValueType::Array => ColumnKind::List(None),
            ValueType::Text
            | ValueType::Interval
            | ValueType::Uuid
            | ValueType::Json
            | ValueType::Other => ColumnKind::Text,
        }
    }

    /// Returns the type of one value; `None` for NULL, which fits every type.
    pub(super) fn of_cell(cell: &Cell, kind: ValueType) -> Option<ColumnKind> {
        Some(match cell {
            Cell::Null => return None,
            Cell::Bool(_) => ColumnKind::Boolean,
            Cell::Int(number) => ColumnKind::Integer {
                negative: *number < 0,
                large: false,
                small: number.unsigned_abs() <= MAX_EXACT,
            },
            Cell::UInt(number) => ColumnKind::Integer {
                negative: false,
                large: i64::try_from(*number).is_err(),
                small: *number <= MAX_EXACT,
            },
            Cell::Float(_) => ColumnKind::Float,
            Cell::Text(text) => ColumnKind::of_text(text, kind),
            Cell::Json(_) => ColumnKind::Text,
            Cell::Bytes(_) => ColumnKind::Binary,
            // The element type of an array is unknown, so text elements remain text.
            Cell::Array(cells) => {
                ColumnKind::List(common(cells.iter(), ValueType::Text).map(Box::new))
            }
        })
    }

    fn of_text(text: &str, kind: ValueType) -> ColumnKind {
        let shape = ColumnKind::by_type(kind);
        let fits = match shape {
            ColumnKind::Decimal { .. } => return decimal(text).unwrap_or(ColumnKind::Text),
            ColumnKind::Date => values::days(text).is_some(),
            ColumnKind::Time => values::time_of_day(text).is_some(),
            ColumnKind::Timestamp => values::timestamp(text).is_some(),
            ColumnKind::Instant => values::instant(text).is_some(),
            _ => false,
        };
        if fits { shape } else { ColumnKind::Text }
    }

    /// Returns the type that represents both without loss; text if no other type does.
    fn with(self, other: ColumnKind) -> ColumnKind {
        use ColumnKind::{Decimal, Float, Integer, List};
        match (self, other) {
            (one, other) if one == other => one,
            (
                Integer {
                    negative: a,
                    large: b,
                    small: c,
                },
                Integer {
                    negative: d,
                    large: e,
                    small: f,
                },
            ) => Integer {
                negative: a || d,
                large: b || e,
                small: c && f,
            },
            (Integer { small: true, .. }, Float) | (Float, Integer { small: true, .. }) => Float,
            (Integer { .. }, Decimal { whole, fraction })
            | (Decimal { whole, fraction }, Integer { .. }) => Decimal {
                whole: whole.max(INTEGER_DIGITS),
                fraction,
            },
            (
                Decimal {
                    whole: a,
                    fraction: b,
                },
                Decimal {
                    whole: c,
                    fraction: d,
                },
            ) => Decimal {
                whole: a.max(c),
                fraction: b.max(d),
            },
            (List(one), List(other)) => List(match (one, other) {
                (Some(one), Some(other)) => Some(Box::new(one.with(*other))),
                (one, other) => one.or(other),
            }),
            _ => ColumnKind::Text,
        }
    }

    /// Returns the Arrow type. Integers that do not fit a common 64-bit type become decimals.
    /// Decimals of more than 76 digits become text.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            ColumnKind::Boolean => DataType::Boolean,
            ColumnKind::Integer { large: false, .. } => DataType::Int64,
            ColumnKind::Integer {
                negative: false, ..
            } => DataType::UInt64,
            ColumnKind::Integer { .. } => decimal_type(INTEGER_DIGITS, 0),
            ColumnKind::Float => DataType::Float64,
            ColumnKind::Decimal { whole, fraction } => decimal_type(*whole, *fraction),
            ColumnKind::Date => DataType::Date32,
            ColumnKind::Time => DataType::Time64(TimeUnit::Microsecond),
            ColumnKind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            ColumnKind::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            ColumnKind::Binary => DataType::Binary,
            ColumnKind::Text => DataType::Utf8,
            ColumnKind::List(element) => {
                let element = element.as_ref().map_or(DataType::Utf8, |it| it.data_type());
                DataType::List(Arc::new(Field::new_list_field(element, true)))
            }
        }
    }
}

const INTEGER: ColumnKind = ColumnKind::Integer {
    negative: false,
    large: false,
    small: true,
};

fn common<'a>(cells: impl Iterator<Item = &'a Cell>, kind: ValueType) -> Option<ColumnKind> {
    cells
        .filter_map(|cell| ColumnKind::of_cell(cell, kind))
        .reduce(ColumnKind::with)
}

fn decimal(text: &str) -> Option<ColumnKind> {
    let digits = Digits::of(text)?;
    Some(ColumnKind::Decimal {
        whole: digits.whole.len(),
        fraction: digits.fraction.len(),
    })
}

/// Returns the declared precision of a type such as `numeric(10,2)`, so that the result does not
/// depend on the values.
fn declared_decimal(data_type: &str) -> Option<ColumnKind> {
    let (_, rest) = data_type.split_once('(')?;
    let (inside, _) = rest.split_once(')')?;
    let (precision, scale) = inside.split_once(',').unwrap_or((inside, "0"));
    let precision: usize = precision.trim().parse().ok()?;
    let fraction: usize = scale.trim().parse().ok()?;
    let whole = precision.checked_sub(fraction)?;
    Some(ColumnKind::Decimal { whole, fraction })
}

fn decimal_type(whole: usize, fraction: usize) -> DataType {
    let precision = u8::try_from((whole + fraction).max(1));
    match (precision, i8::try_from(fraction)) {
        (Ok(digits), Ok(scale)) if digits <= DECIMAL128_MAX_PRECISION => {
            DataType::Decimal128(digits, scale)
        }
        (Ok(digits), Ok(scale)) if digits <= DECIMAL256_MAX_PRECISION => {
            DataType::Decimal256(digits, scale)
        }
        _ => DataType::Utf8,
    }
}
