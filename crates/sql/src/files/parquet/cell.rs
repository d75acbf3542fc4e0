//! One value of an Arrow array.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Number, Value};

use crate::Cell;

/// Returns the value of a row. Times are ISO 8601 text and decimals are text. Lists, structs and
/// maps are JSON.
///
/// # Errors
/// Fails if a time is out of range or the type is unsupported; the error describes the value.
pub(super) fn cell(array: &dyn Array, row: usize) -> Result<Cell, String> {
    use DataType as D;
    if array.is_null(row) {
        return Ok(Cell::Null);
    }
    /// Returns the native value of a primitive array.
    macro_rules! native {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value(row)
        };
    }
    /// Returns the digits of a decimal.
    macro_rules! digits {
        ($kind:ty) => {
            Cell::Text(array.as_primitive::<$kind>().value_as_string(row))
        };
    }
    Ok(match array.data_type() {
        D::Null => Cell::Null,
        D::Boolean => Cell::Bool(array.as_boolean().value(row)),
        D::Int8 => Cell::Int(native!(Int8Type).into()),
        D::Int16 => Cell::Int(native!(Int16Type).into()),
        D::Int32 => Cell::Int(native!(Int32Type).into()),
        D::Int64 => Cell::Int(native!(Int64Type)),
        D::UInt8 => Cell::Int(native!(UInt8Type).into()),
        D::UInt16 => Cell::Int(native!(UInt16Type).into()),
        D::UInt32 => Cell::Int(native!(UInt32Type).into()),
        D::UInt64 => Cell::UInt(native!(UInt64Type)),
        D::Float16 => Cell::Float(native!(Float16Type).to_f64()),
        D::Float32 => Cell::Float(native!(Float32Type).into()),
        D::Float64 => Cell::Float(native!(Float64Type)),
        D::Decimal32(..) => digits!(Decimal32Type),
        D::Decimal64(..) => digits!(Decimal64Type),
        D::Decimal128(..) => digits!(Decimal128Type),
        D::Decimal256(..) => digits!(Decimal256Type),
        D::Utf8 => Cell::Text(array.as_string::<i32>().value(row).to_owned()),
        D::LargeUtf8 => Cell::Text(array.as_string::<i64>().value(row).to_owned()),
        D::Utf8View => Cell::Text(array.as_string_view().value(row).to_owned()),
        D::Binary => Cell::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        D::LargeBinary => Cell::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        D::BinaryView => Cell::Bytes(array.as_binary_view().value(row).to_vec()),
        D::FixedSizeBinary(_) => Cell::Bytes(array.as_fixed_size_binary().value(row).to_vec()),
        D::Date32 => day(native!(Date32Type).into())?,
        D::Date64 => day(native!(Date64Type).div_euclid(86_400_000))?,
        D::Time32(TimeUnit::Second) => clock(i64::from(native!(Time32SecondType)) * 1_000_000_000)?,
        D::Time32(_) => clock(i64::from(native!(Time32MillisecondType)) * 1_000_000)?,
        D::Time64(TimeUnit::Microsecond) => clock(times(native!(Time64MicrosecondType), 1_000)?)?,
        D::Time64(_) => clock(native!(Time64NanosecondType))?,
        D::Timestamp(unit, zone) => {
            let nanoseconds = match unit {
                TimeUnit::Second => i128::from(native!(TimestampSecondType)) * 1_000_000_000,
                TimeUnit::Millisecond => i128::from(native!(TimestampMillisecondType)) * 1_000_000,
                TimeUnit::Microsecond => i128::from(native!(TimestampMicrosecondType)) * 1_000,
                TimeUnit::Nanosecond => i128::from(native!(TimestampNanosecondType)),
            };
            moment(nanoseconds, zone.is_some())?
        }
        D::Duration(unit) => span(match unit {
            TimeUnit::Second => SignedDuration::from_secs(native!(DurationSecondType)),
            TimeUnit::Millisecond => SignedDuration::from_millis(native!(DurationMillisecondType)),
            TimeUnit::Microsecond => SignedDuration::from_micros(native!(DurationMicrosecondType)),
            TimeUnit::Nanosecond => SignedDuration::from_nanos(native!(DurationNanosecondType)),
        }),
        D::Interval(IntervalUnit::YearMonth) => {
            Cell::Text(format!("P{}M", native!(IntervalYearMonthType)))
        }
        D::Interval(IntervalUnit::DayTime) => {
            let value = native!(IntervalDayTimeType);
            let time = SignedDuration::from_millis(value.milliseconds.into());
            Cell::Text(format!("P{}D{}", value.days, &format!("{time}")[1..]))
        }
        D::Interval(IntervalUnit::MonthDayNano) => {
            let value = native!(IntervalMonthDayNanoType);
            let seconds = value.nanoseconds as f64 / 1e9;
            Cell::Text(format!("P{}M{}DT{seconds}S", value.months, value.days))
        }
        D::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let Cell::Int(key) = cell(dictionary.keys(), row)? else {
                return Err("unsupported dictionary with keys of 64 bits".to_owned());
            };
            let key = usize::try_from(key).map_err(|error| error.to_string())?;
            return cell(dictionary.values(), key);
        }
        _ => Cell::Json(json(array, row)?.to_string()),
    })
}

/// Converts a nested value to JSON.
fn json(array: &dyn Array, row: usize) -> Result<Value, String> {
    use DataType as D;
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    match array.data_type() {
        D::List(_) => list(&array.as_list::<i32>().value(row)),
        D::LargeList(_) => list(&array.as_list::<i64>().value(row)),
        D::ListView(_) => list(&array.as_list_view::<i32>().value(row)),
        D::LargeListView(_) => list(&array.as_list_view::<i64>().value(row)),
        D::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row)),
        D::Struct(fields) => {
            let parts = fields.iter().zip(array.as_struct().columns());
            let parts = parts.map(|(field, part)| Ok((field.name().clone(), json(part, row)?)));
            Ok(Value::Object(parts.collect::<Result<Map<_, _>, String>>()?))
        }
        D::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let pairs = (0..entries.len()).map(|i| {
                let key = match json(keys, i)? {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                Ok((key, json(values, i)?))
            });
            Ok(Value::Object(pairs.collect::<Result<Map<_, _>, String>>()?))
        }
        D::Union(..) | D::RunEndEncoded(..) => {
            Err(format!("unsupported values of type {}", array.data_type()))
        }
        _ => Ok(match cell(array, row)? {
            Cell::Null => Value::Null,
            Cell::Bool(truth) => truth.into(),
            Cell::Int(number) => number.into(),
            Cell::UInt(number) => number.into(),
            Cell::Float(number) => Number::from_f64(number)
                .map_or_else(|| Value::String(number.to_string()), Value::Number),
            Cell::Bytes(bytes) => Value::String(BASE64_STANDARD.encode(bytes)),
            Cell::Text(text) | Cell::Json(text) => Value::String(text),
            Cell::Array(_) => Value::Null,
        }),
    }
}

fn list(items: &dyn Array) -> Result<Value, String> {
    let items = (0..items.len()).map(|i| json(items, i));
    Ok(Value::Array(items.collect::<Result<_, _>>()?))
}

fn times(number: i64, by: i64) -> Result<i64, String> {
    number
        .checked_mul(by)
        .ok_or_else(|| format!("{number} is not a time of day"))
}

fn day(days: i64) -> Result<Cell, String> {
    let date = days
        .checked_mul(24)
        .map(SignedDuration::from_hours)
        .and_then(|since| Date::constant(1970, 1, 1).checked_add(since).ok());
    let date = date.ok_or_else(|| format!("day {days} is outside the calendar"))?;
    Ok(Cell::Text(date.to_string()))
}

fn clock(nanoseconds: i64) -> Result<Cell, String> {
    let time = Time::midnight().checked_add(SignedDuration::from_nanos(nanoseconds));
    let time = time.map_err(|_| format!("{nanoseconds} ns is not a time of day"))?;
    Ok(Cell::Text(time.to_string()))
}

fn moment(nanoseconds: i128, has_zone: bool) -> Result<Cell, String> {
    let wrong = || format!("the time {nanoseconds} ns after 1970 is outside the calendar");
    if has_zone {
        let instant = Timestamp::from_nanosecond(nanoseconds).map_err(|_| wrong())?;
        return Ok(Cell::Text(instant.to_string()));
    }
    let seconds = i64::try_from(nanoseconds.div_euclid(1_000_000_000)).map_err(|_| wrong())?;
    let rest = i32::try_from(nanoseconds.rem_euclid(1_000_000_000)).map_err(|_| wrong())?;
    let since = SignedDuration::new(seconds, rest);
    let moment = DateTime::constant(1970, 1, 1, 0, 0, 0, 0).checked_add(since);
    Ok(Cell::Text(moment.map_err(|_| wrong())?.to_string()))
}

fn span(time: SignedDuration) -> Cell {
    Cell::Text(time.to_string())
}
