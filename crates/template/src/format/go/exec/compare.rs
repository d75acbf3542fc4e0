//! Comparisons: `eq` and `lt`. The other comparisons are derived from them.

use super::super::types::GoType;
use super::super::value::GoValue;
use super::formatted;
use super::item::{Basic, DotValue};

const BAD_TYPE: &str = "invalid type for comparison";

/// Whether the first value equals any of the others.
pub(super) fn equal_any(first: &DotValue<'_>, others: &[DotValue<'_>]) -> Result<bool, String> {
    if others.is_empty() {
        return Err("missing argument for comparison".to_owned());
    }
    for other in others {
        if equal(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn equal(a: &DotValue<'_>, b: &DotValue<'_>) -> Result<bool, String> {
    match (a.basic(), b.basic()) {
        (Basic::Bool(a), Basic::Bool(b)) => Ok(a == b),
        (Basic::Complex(ar, ai), Basic::Complex(br, bi)) => Ok(ar == br && ai == bi),
        (Basic::Int(a), Basic::Int(b)) => Ok(a == b),
        (Basic::Float(a), Basic::Float(b)) => Ok(a == b),
        (Basic::Str(a), Basic::Str(b)) => Ok(a == b),
        (Basic::Uint(a), Basic::Uint(b)) => Ok(a == b),
        (Basic::Int(a), Basic::Uint(b)) | (Basic::Uint(b), Basic::Int(a)) => {
            Ok(u64::try_from(a) == Ok(b))
        }
        (Basic::Other, Basic::Other) => equal_others(a, b),
        _ if a.is_nil() || b.is_nil() => Ok(false),
        _ => Err(incompatible(a, b)),
    }
}

fn incompatible(a: &DotValue<'_>, b: &DotValue<'_>) -> String {
    let (a, b) = (a.type_name(), b.type_name());
    format!("incompatible types for comparison: {a} and {b}")
}

/// Compares values that are comparable only with nil: nil itself, lists, maps and functions.
fn equal_others(a: &DotValue<'_>, b: &DotValue<'_>) -> Result<bool, String> {
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() && b.is_nil());
    }
    if let (DotValue::Own(GoValue::Object(a), _), DotValue::Own(GoValue::Object(b), _)) = (a, b) {
        return Ok(a.go_type() == b.go_type() && a.text() == b.text());
    }
    let text = |item: &DotValue<'_>, verb: &[u8]| formatted(verb, &[item.to_value()]);
    let (a_type, b_type) = (a.type_name(), b.type_name());
    if kind(a) != kind(b) {
        // Go swaps the operands in this message.
        let (a, b) = (text(a, b"%s"), text(b, b"%v"));
        return Err(format!("non-comparable types {a}: {a_type}, {b_type}: {b}"));
    }
    Err(format!("non-comparable type {}: {b_type}", text(b, b"%s")))
}

fn kind(item: &DotValue<'_>) -> u8 {
    match item.go_type() {
        Some(GoType::Slice(_)) => 0,
        Some(GoType::Map(_)) => 1,
        _ => 2,
    }
}

pub(super) fn less(a: &DotValue<'_>, b: &DotValue<'_>) -> Result<bool, String> {
    match (a.basic(), b.basic()) {
        (Basic::Other, _) | (_, Basic::Other) => Err(BAD_TYPE.to_owned()),
        (Basic::Bool(_), Basic::Bool(_)) | (Basic::Complex(..), Basic::Complex(..)) => {
            Err(BAD_TYPE.to_owned())
        }
        (Basic::Int(a), Basic::Int(b)) => Ok(a < b),
        (Basic::Float(a), Basic::Float(b)) => Ok(a < b),
        (Basic::Str(a), Basic::Str(b)) => Ok(a < b),
        (Basic::Uint(a), Basic::Uint(b)) => Ok(a < b),
        (Basic::Int(a), Basic::Uint(b)) => Ok(u64::try_from(a).is_err() || (a as u64) < b),
        (Basic::Uint(a), Basic::Int(b)) => Ok(u64::try_from(b).is_ok_and(|b| a < b)),
        _ => Err(incompatible(a, b)),
    }
}

pub(super) fn less_or_equal(a: &DotValue<'_>, b: &DotValue<'_>) -> Result<bool, String> {
    Ok(less(a, b)? || equal(a, b)?)
}
