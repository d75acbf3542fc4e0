//! Filters for numbers.

use quillet_core::Value as Data;

use super::super::eval::Evaluator;
use super::super::number::{self, LiquidNumber, NumberError, Operation};
use super::super::value::Value;
use super::{FilterEntry, filter, items, select};
use crate::StopReason;

pub(super) static FILTERS: &[FilterEntry] = &[
    filter("abs", 0, 0, |e, input, _| {
        let absolute = of(input).and_then(number::absolute);
        finish(e, absolute)
    }),
    filter("at_least", 1, 1, |e, input, given| {
        bound(e, input, given, false)
    }),
    filter("at_most", 1, 1, |e, input, given| {
        bound(e, input, given, true)
    }),
    filter("ceil", 0, 0, |e, input, _| to_integer(e, input, true)),
    filter("divided_by", 1, 1, |e, input, given| {
        calculate(e, input, Operation::Over, given)
    }),
    filter("floor", 0, 0, |e, input, _| to_integer(e, input, false)),
    filter("minus", 1, 1, |e, input, given| {
        calculate(e, input, Operation::Minus, given)
    }),
    filter("modulo", 1, 1, |e, input, given| {
        calculate(e, input, Operation::Modulo, given)
    }),
    filter("plus", 1, 1, |e, input, given| {
        calculate(e, input, Operation::Plus, given)
    }),
    filter("round", 0, 1, round),
    filter("sum", 0, 1, sum),
    filter("times", 1, 1, |e, input, given| {
        calculate(e, input, Operation::Times, given)
    }),
];

fn of(value: &Value) -> Result<LiquidNumber, NumberError> {
    match value {
        Value::Data(value) => number::number(value),
        _ => Ok(LiquidNumber::Int(0)),
    }
}

fn argument(given: &[Value]) -> Result<LiquidNumber, NumberError> {
    given.first().map_or(Ok(LiquidNumber::Int(0)), of)
}

fn finish(
    e: &Evaluator<'_, '_>,
    result: Result<LiquidNumber, NumberError>,
) -> Result<Value, StopReason> {
    let result = result.map_err(|fault| e.fault(fault))?;
    Ok(Value::Data(number::value(result)))
}

fn calculate(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    operation: Operation,
    given: &[Value],
) -> Result<Value, StopReason> {
    let both = of(input).and_then(|one| Ok((one, argument(given)?)));
    let result = both.and_then(|(one, other)| number::apply(one, operation, other));
    finish(e, result)
}

fn bound(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    given: &[Value],
    above: bool,
) -> Result<Value, StopReason> {
    let both = of(input).and_then(|one| Ok((one, argument(given)?)));
    let result = both.map(|(one, bound)| {
        let passes = if above {
            number::is_greater(one, bound)
        } else {
            number::is_greater(bound, one)
        };
        if passes { bound } else { one }
    });
    finish(e, result)
}

fn to_integer(e: &mut Evaluator<'_, '_>, input: &Value, up: bool) -> Result<Value, StopReason> {
    let whole = of(input).and_then(|number| number::whole(number, up));
    whole.map(Value::from).map_err(|fault| e.fault(fault))
}

fn round(e: &mut Evaluator<'_, '_>, input: &Value, given: &[Value]) -> Result<Value, StopReason> {
    let places = argument(given).and_then(|places| number::whole(places, false));
    let places = places.map_err(|fault| e.fault(fault))?;
    let rounded = of(input).and_then(|number| number::rounded(number, places));
    let rounded = rounded.map_err(|fault| e.fault(fault))?;
    if places > 0 {
        return Ok(Value::Data(number::value(rounded)));
    }
    let whole = number::whole(rounded, false);
    whole.map(Value::from).map_err(|fault| e.fault(fault))
}

/// Returns the sum of the items, or of a property of the items.
fn sum(e: &mut Evaluator<'_, '_>, input: &Value, given: &[Value]) -> Result<Value, StopReason> {
    let mut sum = Ok(LiquidNumber::Int(0));
    for item in items(e, input)? {
        let item = match given.first() {
            Some(key) => select::property(&item, key)?.unwrap_or(Data::Null),
            None => item,
        };
        sum = sum.and_then(|sum| number::apply(sum, Operation::Plus, number::number(&item)?));
    }
    finish(e, sum)
}
