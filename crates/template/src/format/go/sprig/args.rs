//! Typed access to arguments by index. The engine has checked the types, so a wrong type cannot
//! occur. The functions would return the zero value for it.

use super::super::{GoList, GoMap, GoValue};

pub(super) fn value(args: &[GoValue], at: usize) -> GoValue {
    args.get(at).cloned().unwrap_or_default()
}

pub(super) fn text(args: &[GoValue], at: usize) -> &[u8] {
    args.get(at).and_then(GoValue::as_bytes).unwrap_or_default()
}

/// Returns the text of an argument, with U+FFFD for invalid UTF-8.
pub(super) fn chars(args: &[GoValue], at: usize) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(text(args, at))
}

pub(super) fn int(args: &[GoValue], at: usize) -> i64 {
    match args.get(at) {
        Some(GoValue::Int(value)) => *value,
        _ => 0,
    }
}

pub(super) fn boolean(args: &[GoValue], at: usize) -> bool {
    matches!(args.get(at), Some(GoValue::Bool(true)))
}

/// Returns the map of an argument. A nil map gives a new empty map.
pub(super) fn map(args: &[GoValue], at: usize) -> GoMap {
    args.get(at)
        .and_then(GoValue::as_map)
        .cloned()
        .unwrap_or_default()
}

/// Returns the arguments from an index onward.
pub(super) fn rest(args: &[GoValue], from: usize) -> &[GoValue] {
    args.get(from..).unwrap_or_default()
}

/// Returns a list for a Sprig function that inspects the value's kind instead of declaring a type.
///
/// # Errors
/// Returns Go's error: a panic for the type of nil, or Sprig's message with the kind of other
/// values.
pub(super) fn list_of(value: &GoValue, refusal: &str) -> Result<GoList, String> {
    match value {
        GoValue::List(list) => Ok(list.clone()),
        GoValue::Nil => Err(NIL.to_owned()),
        other => Err(format!("{refusal} {}", super::types::kind(other))),
    }
}

/// Go's panic message if Sprig requests the type of nil.
pub(super) const NIL: &str = "runtime error: invalid memory address or nil pointer dereference";
