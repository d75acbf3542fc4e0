//! Arguments by place and type. The engine has checked them against the
//! signature, so a wrong type cannot come here and reads as the zero value.

use super::super::{GoList, GoMap, GoValue};

pub(super) fn value(args: &[GoValue], at: usize) -> GoValue {
    args.get(at).cloned().unwrap_or_default()
}

pub(super) fn text(args: &[GoValue], at: usize) -> &[u8] {
    args.get(at).and_then(GoValue::as_bytes).unwrap_or_default()
}

/// The text with U+FFFD for bytes that are no UTF-8.
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

/// The map; a nil one has no entries and belongs to nobody.
pub(super) fn map(args: &[GoValue], at: usize) -> GoMap {
    args.get(at)
        .and_then(GoValue::as_map)
        .cloned()
        .unwrap_or_default()
}

/// The arguments from a place on.
pub(super) fn rest(args: &[GoValue], from: usize) -> &[GoValue] {
    args.get(from..).unwrap_or_default()
}

/// A list, where Sprig looks at the value's kind instead of declaring a type.
///
/// # Errors
/// Go's own: it asks nil for its type, and Sprig names the kind of the rest.
pub(super) fn list_of(value: &GoValue, refusal: &str) -> Result<GoList, String> {
    match value {
        GoValue::List(list) => Ok(list.clone()),
        GoValue::Nil => Err(NIL.to_owned()),
        other => Err(format!("{refusal} {}", super::types::kind(other))),
    }
}

/// What Go says when Sprig asks nil for its type.
pub(super) const NIL: &str = "runtime error: invalid memory address or nil pointer dereference";
