//! Filters for numbers.

use super::super::call::EvaluatedArguments;
use super::super::eval::{Evaluator, fail};
use super::super::value::Value;
use crate::StopReason;

type FilterResult<T> = std::result::Result<T, StopReason>;

pub(super) fn abs(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    match value {
        Value::Float(float) => Ok(Value::Float(float.abs())),
        Value::Undefined(path) => Err(e.undefined(path.as_deref())),
        other => match other.as_int().and_then(i64::checked_abs) {
            Some(int) => Ok(Value::Int(int)),
            None => Err(fail(format!(
                "bad operand type for abs(): '{}'",
                other.kind()
            ))),
        },
    }
}

pub(super) fn int(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let default = given.get(0, "default").cloned().unwrap_or(Value::Int(0));
    let base = given.int(1, "base", 10)?;
    Ok(match value {
        Value::Undefined(path) => return Err(e.undefined(path.as_deref())),
        Value::Float(float) if float.is_finite() && float.abs() < 9.2e18 => {
            Value::Int(float.trunc() as i64)
        }
        Value::Str(text) => {
            e.scan(text.len())?;
            parse_int(text, base).map_or(default, Value::Int)
        }
        other => other.as_int().map_or(default, Value::Int),
    })
}

fn parse_int(text: &str, base: i64) -> Option<i64> {
    let text = text.trim().replace('_', "");
    let radix = u32::try_from(base)
        .ok()
        .filter(|base| (2..=36).contains(base))?;
    let prefix = match radix {
        16 => "0x",
        8 => "0o",
        2 => "0b",
        _ => "",
    };
    let digits = text.strip_prefix(prefix).unwrap_or(&text);
    let whole = i64::from_str_radix(digits, radix).ok();
    // As in jinja2, a string that is not an integer may be a float.
    whole.or_else(|| {
        let float = text.parse::<f64>().ok()?;
        (float.is_finite() && float.abs() < 9.2e18).then_some(float.trunc() as i64)
    })
}

pub(super) fn float(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let default = given
        .get(0, "default")
        .cloned()
        .unwrap_or(Value::Float(0.0));
    Ok(match value {
        Value::Undefined(path) => return Err(e.undefined(path.as_deref())),
        Value::Str(text) => {
            e.scan(text.len())?;
            let parsed = text.trim().replace('_', "").parse().ok();
            parsed.map_or(default, Value::Float)
        }
        other => other.as_float().map_or(default, Value::Float),
    })
}

pub(super) fn round(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    if let Value::Undefined(path) = value {
        return Err(e.undefined(path.as_deref()));
    }
    let Some(number) = value.as_float() else {
        return Err(fail(format!(
            "type {} doesn't define __round__ method",
            value.kind()
        )));
    };
    let precision = given.int(0, "precision", 0)?.clamp(-300, 300);
    let scale = 10_f64.powi(precision as i32);
    let method = given.str(1, "method", "common")?;
    let rounded = match method {
        "ceil" => (number * scale).ceil() / scale,
        "floor" => (number * scale).floor() / scale,
        "common" if precision >= 0 => round_decimal(number, precision as usize),
        "common" => (number * scale).round_ties_even() / scale,
        _ => return Err(fail("method must be common, ceil or floor")),
    };
    Ok(match value {
        Value::Int(int) if method == "common" && precision >= 0 => Value::Int(*int),
        Value::Bool(bool) if method == "common" => Value::Int(i64::from(*bool)),
        Value::Int(_) if method == "common" => Value::Int(rounded as i64),
        _ => Value::Float(rounded),
    })
}

/// Rounds the exact decimal value, with ties to even, as Python does. Rust's formatting with a
/// precision does the same.
fn round_decimal(number: f64, precision: usize) -> f64 {
    format!("{number:.precision$}").parse().unwrap_or(number)
}

pub(super) fn filesizeformat(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let number = match value {
        Value::Str(text) => text.trim().parse().ok(),
        Value::Undefined(path) => return Err(e.undefined(path.as_deref())),
        other => other.as_float(),
    };
    let Some(bytes) = number else {
        let text = e.repr(value)?;
        return Err(fail(format!("could not convert {text} to a number")));
    };
    let binary = given.flag(0, "binary", false);
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    let units = if binary {
        ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    } else {
        ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]
    };
    if bytes == 1.0 {
        return Ok("1 Byte".into());
    }
    if bytes < base {
        return Ok(format!("{} Bytes", bytes.trunc()).into());
    }
    let mut unit = base;
    for name in units {
        let next = unit * base;
        if bytes < next || name.starts_with('Y') {
            return Ok(format!("{:.1} {name}", bytes / unit).into());
        }
        unit = next;
    }
    Ok(Value::None)
}
