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
pub(super) enum Shape {
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
    List(Option<Box<Shape>>),
}

impl Shape {
    /// The shape of a column: what its values have in common, or what its type says where
    /// there is none.
    pub(super) fn of<'a>(column: &ColumnInfo, cells: impl Iterator<Item = &'a Cell>) -> Shape {
        let declared = match column.value_type {
            ValueType::Decimal => declared_decimal(&column.data_type),
            _ => None,
        };
        let found = common(cells, column.value_type);
        match (declared, found) {
            (Some(declared), Some(found)) => declared.with(found),
            (declared, found) => declared
                .or(found)
                .unwrap_or_else(|| Shape::by_type(column.value_type)),
        }
    }

    /// The shape with room for rows that nobody has seen yet, as far as the database's type of the
    /// column lets expect them: large unsigned numbers, decimals with more digits before the point.
    /// How many a decimal has behind it, nobody knows where no value was seen: texts have room.
    pub(super) fn with_room(self, column: &ColumnInfo, has_values: bool) -> Shape {
        match self {
            Shape::Integer {
                negative: false,
                small,
                ..
            } if column.data_type == "bigint unsigned" => Shape::Integer {
                negative: false,
                large: true,
                small,
            },
            Shape::Decimal { whole, fraction } if declared_decimal(&column.data_type).is_none() => {
                if !has_values {
                    return Shape::Text;
                }
                let digits = [DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION].map(usize::from);
                let fitting = digits.into_iter().find(|most| whole + fraction <= *most);
                Shape::Decimal {
                    whole: fitting.map_or(whole, |most| most - fraction),
                    fraction,
                }
            }
            Shape::List(None) => Shape::List(Some(Box::new(Shape::Text))),
            shape => shape,
        }
    }

    /// Whether a value can be in a column of this shape as it is.
    pub(super) fn holds(&self, cell: &Cell, kind: ValueType) -> bool {
        if *self == Shape::Text {
            return true;
        }
        let Some(shape) = Shape::of_cell(cell, kind) else {
            return true;
        };
        shape == *self || self.clone().with(shape).data_type() == self.data_type()
    }

    fn by_type(kind: ValueType) -> Shape {
        match kind {
            ValueType::Boolean => Shape::Boolean,
            ValueType::Integer => INTEGER,
            ValueType::Float => Shape::Float,
            ValueType::Decimal => Shape::Decimal {
                whole: DECIMAL128_MAX_PRECISION.into(),
                fraction: 0,
            },
            ValueType::Binary => Shape::Binary,
            ValueType::Date => Shape::Date,
            ValueType::Time => Shape::Time,
            ValueType::Timestamp => Shape::Timestamp,
            ValueType::Instant => Shape::Instant,
            ValueType::Array => Shape::List(None),
            ValueType::Text
            | ValueType::Interval
            | ValueType::Uuid
            | ValueType::Json
            | ValueType::Other => Shape::Text,
        }
    }

    /// `None` for NULL, which is of every shape.
    pub(super) fn of_cell(cell: &Cell, kind: ValueType) -> Option<Shape> {
        Some(match cell {
            Cell::Null => return None,
            Cell::Bool(_) => Shape::Boolean,
            Cell::Int(number) => Shape::Integer {
                negative: *number < 0,
                large: false,
                small: number.unsigned_abs() <= MAX_EXACT,
            },
            Cell::UInt(number) => Shape::Integer {
                negative: false,
                large: i64::try_from(*number).is_err(),
                small: *number <= MAX_EXACT,
            },
            Cell::Float(_) => Shape::Float,
            Cell::Text(text) => Shape::of_text(text, kind),
            Cell::Json(_) => Shape::Text,
            Cell::Bytes(_) => Shape::Binary,
            // Of what type its elements are is not known: texts are texts.
            Cell::Array(cells) => Shape::List(common(cells.iter(), ValueType::Text).map(Box::new)),
        })
    }

    fn of_text(text: &str, kind: ValueType) -> Shape {
        let shape = Shape::by_type(kind);
        let fits = match shape {
            Shape::Decimal { .. } => return decimal(text).unwrap_or(Shape::Text),
            Shape::Date => values::days(text).is_some(),
            Shape::Time => values::time_of_day(text).is_some(),
            Shape::Timestamp => values::timestamp(text).is_some(),
            Shape::Instant => values::instant(text).is_some(),
            _ => false,
        };
        if fits { shape } else { Shape::Text }
    }

    /// What both are without loss; text in the end.
    fn with(self, other: Shape) -> Shape {
        use Shape::{Decimal, Float, Integer, List};
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
            _ => Shape::Text,
        }
    }

    /// As Arrow says it. Whole numbers that no 64-bit type holds together become decimals, and
    /// decimals of more than 76 digits texts.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Shape::Boolean => DataType::Boolean,
            Shape::Integer { large: false, .. } => DataType::Int64,
            Shape::Integer {
                negative: false, ..
            } => DataType::UInt64,
            Shape::Integer { .. } => decimal_type(INTEGER_DIGITS, 0),
            Shape::Float => DataType::Float64,
            Shape::Decimal { whole, fraction } => decimal_type(*whole, *fraction),
            Shape::Date => DataType::Date32,
            Shape::Time => DataType::Time64(TimeUnit::Microsecond),
            Shape::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Shape::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Shape::Binary => DataType::Binary,
            Shape::Text => DataType::Utf8,
            Shape::List(element) => {
                let element = element.as_ref().map_or(DataType::Utf8, |it| it.data_type());
                DataType::List(Arc::new(Field::new_list_field(element, true)))
            }
        }
    }
}

const INTEGER: Shape = Shape::Integer {
    negative: false,
    large: false,
    small: true,
};

fn common<'a>(cells: impl Iterator<Item = &'a Cell>, kind: ValueType) -> Option<Shape> {
    cells
        .filter_map(|cell| Shape::of_cell(cell, kind))
        .reduce(Shape::with)
}

fn decimal(text: &str) -> Option<Shape> {
    let digits = Digits::of(text)?;
    Some(Shape::Decimal {
        whole: digits.whole.len(),
        fraction: digits.fraction.len(),
    })
}

/// What `numeric(10,2)` says, so that the type does not hang on the values that happen to come.
fn declared_decimal(data_type: &str) -> Option<Shape> {
    let (_, rest) = data_type.split_once('(')?;
    let (inside, _) = rest.split_once(')')?;
    let (precision, scale) = inside.split_once(',').unwrap_or((inside, "0"));
    let precision: usize = precision.trim().parse().ok()?;
    let fraction: usize = scale.trim().parse().ok()?;
    let whole = precision.checked_sub(fraction)?;
    Some(Shape::Decimal { whole, fraction })
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
