//! Operators, with Python's rules.

use std::cmp::Ordering;

use super::ast::{BinaryOperator, CompareOperator};
use super::eval::{Evaluator, VALUE_SIZE, fail};
use super::value::{Dict, List, Sort, Value};
use crate::StopReason;

/// Returns the result of an operation on a failed call. It is empty if the operation is invalid.
#[cold]
pub(super) fn or_nothing(value: Result<Value, StopReason>) -> Result<Value, StopReason> {
    match value {
        Err(stop) if stop.is_of_values() => Ok(Value::nothing()),
        value => value,
    }
}

impl Evaluator<'_, '_> {
    pub(super) fn negative(&mut self, value: &Value) -> Result<Value, StopReason> {
        if value.is_meant_otherwise() {
            return or_nothing(self.negative(&value.meant()));
        }
        match value {
            Value::Float(float) => Ok(Value::Float(-float)),
            Value::Undefined(path) => Err(self.undefined(path.as_deref())),
            other => match other.as_int() {
                Some(int) => int.checked_neg().map(Value::Int).ok_or_else(overflow),
                None => Err(fail(format!(
                    "bad operand type for unary -: '{}'",
                    other.kind()
                ))),
            },
        }
    }

    pub(super) fn math(
        &mut self,
        operator: BinaryOperator,
        left: &Value,
        right: &Value,
    ) -> Result<Value, StopReason> {
        if left.is_meant_otherwise() || right.is_meant_otherwise() {
            return or_nothing(self.math(operator, &left.meant(), &right.meant()));
        }
        let formats = operator == BinaryOperator::Remainder && left.as_str().is_some();
        for operand in [left, right] {
            if let (Value::Undefined(path), false) = (operand, formats) {
                return Err(self.undefined(path.as_deref()));
            }
        }
        if let (Some(left), Some(right)) = (left.as_int(), right.as_int()) {
            return int_math(operator, left, right);
        }
        if let (Some(left), Some(right)) = (left.as_float(), right.as_float()) {
            return float_math(operator, left, right).map(Value::Float);
        }
        if let Some(sum) = self.script_sum(operator, left, right)? {
            return Ok(sum);
        }
        match (operator, left, right) {
            (BinaryOperator::Add, Value::Str(left), Value::Str(right)) => {
                self.charge(left.len() + right.len())?;
                Ok([&**left, &**right].concat().into())
            }
            (BinaryOperator::Add, Value::List(left), Value::List(right)) if joins(left, right) => {
                self.charge((left.len() + right.len()) * VALUE_SIZE)?;
                self.list(left.sort, left.iter().chain(right.iter()).collect())
            }
            (BinaryOperator::Multiply, value, times) | (BinaryOperator::Multiply, times, value)
                if times.as_int().is_some() =>
            {
                self.repeat(value, times)
            }
            (BinaryOperator::Remainder, Value::Str(format), values) => self.percent(format, values),
            _ => Err(unsupported(operator, left, right)),
        }
    }

    fn repeat(&mut self, value: &Value, times: &Value) -> Result<Value, StopReason> {
        let times = times.as_int().and_then(|times| usize::try_from(times).ok());
        let times = times.unwrap_or(0);
        match value {
            Value::Str(text) => {
                self.charge(text.len().saturating_mul(times))?;
                Ok(text.repeat(times).into())
            }
            Value::List(list) if matches!(list.sort, Sort::List | Sort::Tuple) => {
                // Repeating an empty list creates no items, so it costs nothing.
                let times = if list.len() == 0 { 0 } else { times };
                let len = list.len().saturating_mul(times);
                self.charge(len.saturating_mul(VALUE_SIZE))?;
                let items = (0..times).flat_map(|_| list.iter()).collect();
                self.list(list.sort, items)
            }
            other => Err(unsupported(BinaryOperator::Multiply, other, &Value::Int(1))),
        }
    }

    pub(super) fn compare(
        &mut self,
        comparison: CompareOperator,
        left: &Value,
        right: &Value,
    ) -> Result<bool, StopReason> {
        if left.is_meant_otherwise() || right.is_meant_otherwise() {
            return match self.compare(comparison, &left.meant(), &right.meant()) {
                Err(stop) if stop.is_of_values() => Ok(false),
                holds => holds,
            };
        }
        let ordered = |ordering: Option<Ordering>, wanted: fn(Ordering) -> bool| {
            Ok(ordering.is_some_and(wanted))
        };
        match comparison {
            CompareOperator::Equal | CompareOperator::NotEqual => {
                for operand in [left, right] {
                    if let Value::Undefined(path) = operand {
                        self.undefined_is_used(path.as_deref())?;
                    }
                }
                Ok(self.equal(left, right)? == (comparison == CompareOperator::Equal))
            }
            CompareOperator::Less => ordered(self.order("<", left, right)?, Ordering::is_lt),
            CompareOperator::LessOrEqual => {
                ordered(self.order("<=", left, right)?, Ordering::is_le)
            }
            CompareOperator::Greater => ordered(self.order(">", left, right)?, Ordering::is_gt),
            CompareOperator::GreaterOrEqual => {
                ordered(self.order(">=", left, right)?, Ordering::is_ge)
            }
            CompareOperator::In => self.contains(right, left),
            CompareOperator::NotIn => self.contains(right, left).map(|found| !found),
        }
    }

    pub(super) fn equal(&mut self, left: &Value, right: &Value) -> Result<bool, StopReason> {
        self.step()?;
        if let (Some(left), Some(right)) = (left.as_int(), right.as_int()) {
            return Ok(left == right);
        }
        if let (Some(left), Some(right)) = (left.as_float(), right.as_float()) {
            return Ok(left == right);
        }
        match (left, right) {
            (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => Ok(true),
            (Value::Str(left), Value::Str(right)) => {
                self.scan(left.len().min(right.len()))?;
                Ok(left == right)
            }
            (Value::List(left), Value::List(right)) => self.equal_lists(left, right),
            (Value::Dict(left), Value::Dict(right)) => self.equal_dicts(left, right),
            (Value::Namespace(left), Value::Namespace(right))
            | (Value::Module(left), Value::Module(right)) => Ok(left == right),
            (Value::Macro(left), Value::Macro(right)) => Ok(std::rc::Rc::ptr_eq(left, right)),
            (Value::Loop(left), Value::Loop(right)) => Ok(std::rc::Rc::ptr_eq(left, right)),
            (Value::Function(left), Value::Function(right)) => Ok(left.name == right.name),
            _ => Ok(false),
        }
    }

    fn equal_lists(&mut self, left: &List, right: &List) -> Result<bool, StopReason> {
        if left.len() != right.len() || left.sort != right.sort {
            return Ok(false);
        }
        for (left, right) in left.iter().zip(right.iter()) {
            if !self.equal(&left, &right)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn equal_dicts(&mut self, left: &Dict, right: &Dict) -> Result<bool, StopReason> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (key, left) in left.iter() {
            let key = self.key(&key)?;
            match right.get(&key) {
                Some(right) if self.equal(&left, &right)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Compares two values. Returns `None` if their order is undefined, as for NaN.
    pub(super) fn order(
        &mut self,
        symbol: &str,
        left: &Value,
        right: &Value,
    ) -> Result<Option<Ordering>, StopReason> {
        self.step()?;
        if let (Some(left), Some(right)) = (left.as_int(), right.as_int()) {
            return Ok(Some(left.cmp(&right)));
        }
        if let (Some(left), Some(right)) = (left.as_float(), right.as_float()) {
            return Ok(left.partial_cmp(&right));
        }
        match (left, right) {
            (Value::Undefined(path), _) | (_, Value::Undefined(path)) => {
                Err(self.undefined(path.as_deref()))
            }
            (Value::Str(left), Value::Str(right)) => {
                self.scan(left.len().min(right.len()))?;
                Ok(Some(left.cmp(right)))
            }
            (Value::List(left), Value::List(right)) if joins(left, right) => {
                self.order_lists(symbol, left, right)
            }
            _ => Err(fail(format!(
                "'{symbol}' not supported between instances of '{}' and '{}'",
                left.kind(),
                right.kind()
            ))),
        }
    }

    fn order_lists(
        &mut self,
        symbol: &str,
        left: &List,
        right: &List,
    ) -> Result<Option<Ordering>, StopReason> {
        for (left, right) in left.iter().zip(right.iter()) {
            if !self.equal(&left, &right)? {
                return self.order(symbol, &left, &right);
            }
        }
        Ok(Some(left.len().cmp(&right.len())))
    }

    /// Evaluates `needle in haystack`.
    pub(super) fn contains(
        &mut self,
        haystack: &Value,
        needle: &Value,
    ) -> Result<bool, StopReason> {
        match (haystack, needle) {
            (Value::Undefined(path), _) => {
                self.undefined_is_used(path.as_deref())?;
                Ok(false)
            }
            (Value::Str(haystack), Value::Str(needle)) => {
                self.scan(haystack.len() * 4)?;
                Ok(haystack.contains(&**needle))
            }
            (Value::Str(_), Value::Undefined(path)) => Err(self.undefined(path.as_deref())),
            (Value::Str(_), other) => Err(fail(format!(
                "'in <string>' requires string as left operand, not {}",
                other.kind()
            ))),
            (Value::List(list), needle) => {
                for item in list.iter() {
                    if self.equal(&item, needle)? && self.script_alike(&item, needle) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (Value::Dict(dict), needle) => {
                let key = self.key(needle)?;
                Ok(dict.get(&key).is_some())
            }
            (Value::Namespace(number), Value::Str(name)) => {
                let names = self.namespaces.get(*number);
                Ok(names.is_some_and(|names| names.contains_key(name)))
            }
            (other, _) => Err(fail(format!(
                "argument of type '{}' is not iterable",
                other.kind()
            ))),
        }
    }
}

/// Whether Python can concatenate and order two values: two lists, or two tuples.
fn joins(left: &List, right: &List) -> bool {
    let plain = |sort| matches!(sort, Sort::List | Sort::Tuple);
    left.sort == right.sort && plain(left.sort)
}

fn unsupported(operator: BinaryOperator, left: &Value, right: &Value) -> StopReason {
    if let (BinaryOperator::Add, Value::Str(_)) = (operator, left) {
        return fail(format!(
            "can only concatenate str (not \"{}\") to str",
            right.kind()
        ));
    }
    fail(format!(
        "unsupported operand type(s) for {}: '{}' and '{}'",
        operator.symbol(),
        left.kind(),
        right.kind()
    ))
}

fn overflow() -> StopReason {
    fail("the result does not fit 64 bits")
}

fn int_math(operator: BinaryOperator, left: i64, right: i64) -> Result<Value, StopReason> {
    let result = match operator {
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::Divide => {
            return float_math(operator, left as f64, right as f64).map(Value::Float);
        }
        BinaryOperator::FloorDivide | BinaryOperator::Remainder if right == 0 => {
            return Err(by_zero());
        }
        BinaryOperator::FloorDivide => floor_divide(left, right),
        BinaryOperator::Remainder => floor_divide(left, right)
            .and_then(|quotient| left.checked_sub(quotient.checked_mul(right)?)),
        BinaryOperator::Power => match u32::try_from(right) {
            Ok(exponent) => left.checked_pow(exponent),
            Err(_) if right < 0 => {
                return float_math(operator, left as f64, right as f64).map(Value::Float);
            }
            Err(_) => match left {
                0 | 1 => Some(left),
                -1 => Some(if right % 2 == 0 { 1 } else { -1 }),
                _ => None,
            },
        },
    };
    result.map(Value::Int).ok_or_else(overflow)
}

fn floor_divide(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let inexact = left.checked_rem(right)? != 0;
    Some(quotient - i64::from(inexact && (left < 0) != (right < 0)))
}

fn float_math(operator: BinaryOperator, left: f64, right: f64) -> Result<f64, StopReason> {
    let divides = matches!(
        operator,
        BinaryOperator::Divide | BinaryOperator::FloorDivide | BinaryOperator::Remainder
    );
    if divides && right == 0.0 {
        return Err(by_zero());
    }
    Ok(match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide => left / right,
        // As in Python, computed from the remainder, because the quotient may be rounded up.
        BinaryOperator::FloorDivide => ((left - float_remainder(left, right)) / right).round(),
        BinaryOperator::Remainder => float_remainder(left, right),
        BinaryOperator::Power if left == 0.0 && right < 0.0 => {
            return Err(fail("0.0 cannot be raised to a negative power"));
        }
        BinaryOperator::Power if left < 0.0 && left.is_finite() && right.fract() != 0.0 => {
            return Err(fail("the result is a complex number"));
        }
        BinaryOperator::Power => left.powf(right),
    })
}

/// Returns the remainder, which has the sign of the divisor.
fn float_remainder(left: f64, right: f64) -> f64 {
    match left % right {
        0.0 => 0.0_f64.copysign(right),
        rest if (rest < 0.0) != (right < 0.0) => rest + right,
        rest => rest,
    }
}

fn by_zero() -> StopReason {
    fail("division by zero")
}
