//! Converts cells to an Arrow array of the inferred type.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    Float64Array, Int64Array, ListArray, PrimitiveArray, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{ArrowError, DataType, FieldRef};

use crate::Cell;
use crate::export::text::text;
use crate::export::values::{self, Digits};

/// Maximum bytes or elements in one array, because its offsets are 32-bit numbers.
const MAX_LENGTH: usize = i32::MAX as usize;

/// Builds an array of a type that can represent all cells.
pub(super) fn array(kind: &DataType, cells: &[&Cell]) -> Result<ArrayRef, ArrowError> {
    let cells = cells.iter().copied();
    Ok(match kind {
        DataType::Boolean => Arc::new(cells.map(truth).collect::<BooleanArray>()),
        DataType::Int64 => Arc::new(cells.map(signed).collect::<Int64Array>()),
        DataType::UInt64 => Arc::new(cells.map(unsigned).collect::<UInt64Array>()),
        DataType::Float64 => Arc::new(cells.map(float).collect::<Float64Array>()),
        DataType::Decimal128(digits, scale) => decimals128(cells, *digits, *scale)?,
        DataType::Decimal256(digits, scale) => decimals256(cells, *digits, *scale)?,
        DataType::Date32 => Arc::new(of_texts::<_, Date32Array>(cells, values::days)),
        DataType::Time64(_) => Arc::new(of_texts::<_, Time64MicrosecondArray>(
            cells,
            values::time_of_day,
        )),
        DataType::Timestamp(_, None) => Arc::new(of_texts::<_, TimestampMicrosecondArray>(
            cells,
            values::timestamp,
        )),
        DataType::Timestamp(_, zone) => {
            let instants: TimestampMicrosecondArray = of_texts(cells, values::instant);
            Arc::new(instants.with_timezone_opt(zone.clone()))
        }
        DataType::Binary => binary(cells)?,
        DataType::List(element) => list(element, cells)?,
        _ => texts(cells)?,
    })
}

fn truth(cell: &Cell) -> Option<bool> {
    match cell {
        Cell::Bool(truth) => Some(*truth),
        _ => None,
    }
}

fn signed(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Int(number) => Some(*number),
        Cell::UInt(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}

fn unsigned(cell: &Cell) -> Option<u64> {
    match cell {
        Cell::Int(number) => u64::try_from(*number).ok(),
        Cell::UInt(number) => Some(*number),
        _ => None,
    }
}

fn float(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Float(number) => Some(*number),
        // Only integers that a float represents exactly reach this match arm.
        Cell::Int(number) => Some(*number as f64),
        Cell::UInt(number) => Some(*number as f64),
        _ => None,
    }
}

/// Returns the digits of a decimal without its point.
fn unscaled(cell: &Cell, scale: i8) -> Option<String> {
    let text = text(cell)?;
    let digits = Digits::of(&text)?;
    Some(digits.unscaled(usize::try_from(scale).unwrap_or_default()))
}

fn decimals128<'a>(
    cells: impl Iterator<Item = &'a Cell>,
    digits: u8,
    scale: i8,
) -> Result<ArrayRef, ArrowError> {
    let number = |cell| unscaled(cell, scale)?.parse::<i128>().ok();
    let numbers: Decimal128Array = cells
        .map(number)
        .collect::<PrimitiveArray<Decimal128Type>>();
    Ok(Arc::new(numbers.with_precision_and_scale(digits, scale)?))
}

fn decimals256<'a>(
    cells: impl Iterator<Item = &'a Cell>,
    digits: u8,
    scale: i8,
) -> Result<ArrayRef, ArrowError> {
    let number = |cell| i256::from_string(&unscaled(cell, scale)?);
    let numbers: Decimal256Array = cells
        .map(number)
        .collect::<PrimitiveArray<Decimal256Type>>();
    Ok(Arc::new(numbers.with_precision_and_scale(digits, scale)?))
}

fn of_texts<'a, N, A: FromIterator<Option<N>>>(
    cells: impl Iterator<Item = &'a Cell>,
    read: impl Fn(&str) -> Option<N>,
) -> A {
    let number = |cell: &Cell| match cell {
        Cell::Text(text) => read(text),
        _ => None,
    };
    cells.map(number).collect()
}

fn binary<'a>(cells: impl Iterator<Item = &'a Cell>) -> Result<ArrayRef, ArrowError> {
    let bytes = |cell: &'a Cell| match cell {
        Cell::Bytes(bytes) => Some(bytes.as_slice()),
        _ => None,
    };
    let all: Vec<Option<&[u8]>> = cells.map(bytes).collect();
    fits(all.iter().flatten().map(|bytes| bytes.len()))?;
    Ok(Arc::new(BinaryArray::from_iter(all)))
}

fn texts<'a>(cells: impl Iterator<Item = &'a Cell>) -> Result<ArrayRef, ArrowError> {
    let all: Vec<Option<Cow<'_, str>>> = cells.map(text).collect();
    fits(all.iter().flatten().map(|text| text.len()))?;
    Ok(Arc::new(StringArray::from_iter(all)))
}

fn list<'a>(
    field: &FieldRef,
    cells: impl Iterator<Item = &'a Cell>,
) -> Result<ArrayRef, ArrowError> {
    let elements = |cell: &'a Cell| match cell {
        Cell::Array(elements) => Some(elements.as_slice()),
        _ => None,
    };
    let lists: Vec<Option<&[Cell]>> = cells.map(elements).collect();
    let lengths = || lists.iter().map(|list| list.map_or(0, <[Cell]>::len));
    fits(lengths())?;
    let all: Vec<&Cell> = lists
        .iter()
        .flatten()
        .flat_map(|list| list.iter())
        .collect();
    let (offsets, all) = (
        OffsetBuffer::from_lengths(lengths()),
        array(field.data_type(), &all)?,
    );
    let nulls = NullBuffer::from_iter(lists.iter().map(Option::is_some));
    let lists = ListArray::try_new(field.clone(), offsets, all, Some(nulls))?;
    Ok(Arc::new(lists))
}

fn fits(lengths: impl Iterator<Item = usize>) -> Result<(), ArrowError> {
    if lengths.sum::<usize>() <= MAX_LENGTH {
        Ok(())
    } else {
        Err(ArrowError::OffsetOverflowError(MAX_LENGTH))
    }
}
