//! Values of an evaluation: data, and the types that only Liquid has.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use quillet_core as core;

use super::number::shown;

#[derive(Clone, Debug)]
pub(super) enum Value {
    Data(core::Value),
    /// A range of whole numbers, including both ends.
    Range(i64, i64),
    /// `forloop`
    Loop(Rc<ForLoop>),
    /// `tablerowloop`
    Rows(Rc<TableRowLoop>),
    /// The value of a pending call.
    Hole,
}

/// Position of a loop.
#[derive(Debug)]
pub(super) struct ForLoop {
    pub(super) name: Arc<str>,
    pub(super) length: usize,
    pub(super) index: Cell<usize>,
    pub(super) parent: Option<Rc<ForLoop>>,
}

/// Position of a table.
#[derive(Debug)]
pub(super) struct TableRowLoop {
    pub(super) length: usize,
    pub(super) index: Cell<usize>,
    pub(super) column: Cell<i64>,
    pub(super) row: Cell<i64>,
    pub(super) columns: i64,
}

impl Value {
    pub(super) const NIL: Value = Value::Data(core::Value::Null);

    pub(super) fn is_fallback(&self) -> bool {
        matches!(self, Value::Data(value) if value.is_fallback())
    }

    /// Returns the represented value of a fallback value, or the value itself.
    pub(super) fn meant(&self) -> Value {
        match self {
            Value::Data(value) if value.is_fallback() => {
                Value::Data(value.represented_value().clone())
            }
            other => other.clone(),
        }
    }

    pub(super) fn is_true(&self) -> bool {
        !matches!(
            self,
            Value::Data(core::Value::Null | core::Value::Bool(false))
        )
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Value::Data(core::Value::Null))
    }

    /// Returns the type name for error messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Data(core::Value::Null) => "nil",
            Value::Data(core::Value::Str(_)) => "text",
            Value::Data(core::Value::List(_)) => "list",
            Value::Data(core::Value::Map(_)) => "object",
            Value::Data(value) => value.kind(),
            Value::Range(..) => "range",
            Value::Loop(_) | Value::Rows(_) => "loop",
            Value::Hole => "value that is not there yet",
        }
    }
}

impl From<core::Value> for Value {
    fn from(value: core::Value) -> Self {
        Value::Data(value)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Data(number.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Data(value.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Data(text.into())
    }
}

impl From<Vec<core::Value>> for Value {
    fn from(items: Vec<core::Value>) -> Self {
        Value::Data(items.into())
    }
}

/// Returns the length of a range.
pub(super) fn length_of(from: i64, to: i64) -> usize {
    let length = to.checked_sub(from).and_then(|more| more.checked_add(1));
    match length {
        Some(length) => usize::try_from(length.max(0)).unwrap_or(usize::MAX),
        None if to < from => 0,
        None => usize::MAX,
    }
}

/// Whether two values are equal. Numbers are compared by value, other values by type and value.
pub(super) fn equal(one: &core::Value, other: &core::Value) -> bool {
    use core::Value::{Float, Int, List, Map};
    match (one.represented_value(), other.represented_value()) {
        (Int(one), Float(other)) | (Float(other), Int(one)) => *one as f64 == *other,
        (List(one), List(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other.iter())
                    .all(|(one, other)| equal(one, other))
        }
        (Map(one), Map(other)) => {
            let same = |(key, value): (&Arc<str>, &core::Value)| {
                other.get(key).is_some_and(|other| equal(value, other))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        (one, other) => one == other,
    }
}

/// Writes the printed form of a value. The items of a list are joined.
pub(super) fn write(value: &core::Value, out: &mut String) {
    match value.represented_value() {
        core::Value::Null => {}
        core::Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        core::Value::Int(number) => out.push_str(&number.to_string()),
        core::Value::Float(number) => out.push_str(&shown(*number)),
        core::Value::Str(text) => out.push_str(text),
        core::Value::List(items) => items.iter().for_each(|item| write(item, out)),
        core::Value::Map(map) => match map.display_value() {
            Some(printed) if !map.is_fallback() => write(printed, out),
            _ => write_map(map, out),
        },
    }
}

/// Writes a value as Ruby's `inspect` does, inside an object or in a list that is converted to
/// text.
pub(super) fn inspect(value: &core::Value, out: &mut String) {
    match value.represented_value() {
        core::Value::Null => out.push_str("nil"),
        core::Value::Str(text) => inspect_text(text, out),
        core::Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                inspect(item, out);
            }
            out.push(']');
        }
        core::Value::Map(map) => write_map(map, out),
        other => write(other, out),
    }
}

fn write_map(map: &core::Map, out: &mut String) {
    out.push('{');
    for (index, (key, value)) in map.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        inspect_text(key, out);
        out.push_str("=>");
        inspect(value, out);
    }
    out.push('}');
}

fn inspect_text(text: &str, out: &mut String) {
    out.push('"');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '#' if matches!(chars.peek(), Some('{' | '$' | '@')) => out.push_str("\\#"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0b' => out.push_str("\\v"),
            '\x0c' => out.push_str("\\f"),
            '\x1b' => out.push_str("\\e"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
