//! Which Arrow type the values of a column have.

use std::sync::Arc;

use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, TimeUnit};

use crate::export::values::{self, Digits};
use crate::rows::ValueType;
use crate::{Cell, ColumnInfo};

/// The largest whole number up to which 64-bit floats hold every one.
const MAX_EXACT: u64 = 1 << 53;

/// Digits that every 64-bit number fits into.
const INTEGER_DIGITS: usize = 20;

/// What all values of a column are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Boolean,
    /// Whole numbers, as far as they reach.
    Integer {
        /// Whether one is below 0.
        negative: bool,
        /// Whether one is above `i64::MAX`.
        large: bool,
        /// Whether 64-bit floats hold all of them.
        small: bool,
    },
    Float,
    /// Digits before and after the point.
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
    /// An array; `None` while no element was seen.
    List(Option<Box<ColumnKind>>),
}

impl ColumnKind {
    /// The shape of a column: what its values have in common, or what its type says where
    /// there is none.
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

    /// The shape with room for rows that nobody has seen yet, as far as the database's type of the
    /// column lets expect them: large unsigned numbers, decimals with more digits before the point.
    /// How many a decimal has behind it, nobody knows where no value was seen: texts have room.
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

    /// Whether a value can be in a column of this shape as it is.
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

    /// `None` for NULL, which is of every shape.
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
            // Of what type its elements are is not known: texts are texts.
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

    /// What both are without loss; text in the end.
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

    /// As Arrow says it. Whole numbers that no 64-bit type holds together become decimals, and
    /// decimals of more than 76 digits texts.
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

/// What `numeric(10,2)` says, so that the type does not hang on the values that happen to come.
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
