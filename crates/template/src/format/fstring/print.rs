//! Printed forms of values in Python: `str` and `repr`.

use std::fmt::Write;

use quillet_core::Value;
use quillet_core::value::MAX_DEPTH;

use super::super::python::{escaped_size, float_text, quote};
use crate::{LimitKind, Pass, StopReason};

/// Returns Python's type name of a value.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Str(_) => "str",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
    }
}

/// Writes `str(value)` to the output.
pub(super) fn write(value: &Value, pass: &mut Pass<'_>) -> Result<(), StopReason> {
    match value {
        Value::Str(text) => pass.write(text),
        Value::Int(int) => {
            // Writing to a vector cannot fail.
            let _ = std::io::Write::write_fmt(pass.out(), format_args!("{int}"));
            pass.check_output()
        }
        other => {
            let text = repr(other, pass)?;
            pass.write(&text)
        }
    }
}

/// Returns `str(value)`.
pub(super) fn text(value: &Value, pass: &mut Pass<'_>) -> Result<String, StopReason> {
    match value {
        Value::Str(text) => {
            pass.charge(text.len())?;
            Ok(text.to_string())
        }
        other => repr(other, pass),
    }
}

/// Returns `repr(value)`.
pub(super) fn repr(value: &Value, pass: &mut Pass<'_>) -> Result<String, StopReason> {
    if value.depth() > MAX_DEPTH {
        return Err(pass.limit(LimitKind::ValueDepth));
    }
    let mut out = String::new();
    write_repr(value, pass, &mut out)?;
    Ok(out)
}

/// Appends `repr(value)`. Values have a limited depth, so the recursion is safe.
fn write_repr(value: &Value, pass: &mut Pass<'_>, out: &mut String) -> Result<(), StopReason> {
    pass.step()?;
    let before = out.len();
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        // Writing to a string cannot fail.
        Value::Int(int) => drop(write!(out, "{int}")),
        Value::Float(float) => out.push_str(&float_text(*float)),
        Value::Str(text) => {
            pass.charge(escaped_size(text))?;
            quote(text, out);
            return Ok(());
        }
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_repr(item, pass, out)?;
            }
            out.push(']');
            return pass.charge(2 * list.len() + 2);
        }
        Value::Map(map) => {
            out.push('{');
            for (index, (key, item)) in map.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                pass.charge(escaped_size(key) + 4)?;
                quote(key, out);
                out.push_str(": ");
                write_repr(item, pass, out)?;
            }
            out.push('}');
            return pass.charge(2);
        }
    }
    pass.charge(out.len() - before)
}
