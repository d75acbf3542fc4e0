//! Functions charge for their work in advance: bytes for the text and lists that they build, steps
//! for the bytes that they scan.

use quillet_core::value::MAX_DEPTH;

use super::super::fmt::append_value;
use super::super::{FunctionContext, FunctionError, GoList, GoMap, GoStr, GoType, GoValue};
use crate::limits::LimitKind;

/// Number of bytes scanned per step.
const BYTES_PER_STEP: usize = 256;

/// Charges for scanning a text.
pub(super) fn scan(cx: &mut FunctionContext<'_, '_>, bytes: usize) -> Result<(), FunctionError> {
    cx.steps(bytes / BYTES_PER_STEP)
}

/// Charges for a text that is about to be built.
pub(super) fn build(cx: &mut FunctionContext<'_, '_>, bytes: usize) -> Result<(), FunctionError> {
    cx.charge(bytes)?;
    scan(cx, bytes)
}

/// Charges for several parts of the same size. A total size that overflows is rejected.
pub(super) fn build_many(
    cx: &mut FunctionContext<'_, '_>,
    count: usize,
    bytes: usize,
) -> Result<(), FunctionError> {
    match count.checked_mul(bytes) {
        Some(bytes) => build(cx, bytes),
        None => Err(cx.too_large()),
    }
}

/// Returns the text that `%v` prints. Strings are returned unchanged.
pub(super) fn display(
    cx: &mut FunctionContext<'_, '_>,
    value: &GoValue,
) -> Result<GoStr, FunctionError> {
    if let GoValue::Str(text) = value {
        return Ok(text.clone());
    }
    let mut out = Vec::new();
    let room = cx.room();
    if append_value(&mut out, room, value).is_err() {
        return Err(cx.too_large());
    }
    build(cx, out.len())?;
    Ok(out.into())
}

/// Charges for a list with this number of elements.
pub(super) fn items(cx: &mut FunctionContext<'_, '_>, count: usize) -> Result<(), FunctionError> {
    cx.steps(count)?;
    match count.checked_mul(size_of::<GoValue>()) {
        Some(bytes) => cx.charge(bytes),
        None => Err(cx.too_large()),
    }
}

/// Builds a `[]interface {}` of items, for which the caller has already charged.
///
/// # Errors
/// Returns an error if the list is nested too deeply.
pub(super) fn list(
    cx: &mut FunctionContext<'_, '_>,
    items: Vec<GoValue>,
) -> Result<GoValue, FunctionError> {
    for item in &items {
        check_depth(cx, item)?;
    }
    Ok(GoValue::List(GoList::new(items)))
}

/// Builds a `[]string` and charges for it.
pub(super) fn strings<T: Into<GoStr>>(
    cx: &mut FunctionContext<'_, '_>,
    texts: Vec<T>,
) -> Result<GoValue, FunctionError> {
    items(cx, texts.len())?;
    let texts: Vec<GoValue> = texts.into_iter().map(|t| GoValue::Str(t.into())).collect();
    let bytes = texts.iter().filter_map(GoValue::as_bytes).map(<[u8]>::len);
    build(cx, bytes.sum())?;
    Ok(GoValue::List(GoList::typed(GoType::String, texts)))
}

/// Inserts an entry into a map built by a template, and charges for it.
pub(super) fn insert(
    cx: &mut FunctionContext<'_, '_>,
    map: &GoMap,
    key: GoStr,
    value: GoValue,
) -> Result<(), FunctionError> {
    const ENTRY: usize = size_of::<(GoStr, GoValue)>();
    cx.steps(1)?;
    cx.charge(ENTRY + key.as_bytes().len())?;
    check_depth(cx, &value)?;
    Ok(map.insert(key, value)?)
}

/// Copies a map and charges for it.
pub(super) fn copy(cx: &mut FunctionContext<'_, '_>, map: &GoMap) -> Result<GoMap, FunctionError> {
    items(cx, map.len().saturating_mul(2))?;
    Ok(map.copied())
}

/// Rejects a value that is nested too deeply to be put into another container.
///
/// The depth of a built value may have changed after its creation, so it is computed again. Each
/// visited entry is a step.
fn check_depth(cx: &mut FunctionContext<'_, '_>, value: &GoValue) -> Result<(), FunctionError> {
    let mut work: Vec<GoValue> = built(value).cloned().into_iter().collect();
    while let Some(container) = work.pop() {
        let entries = entries(&container);
        cx.steps(entries.len())?;
        work.extend(entries.iter().filter_map(built).cloned());
    }
    if value.depth() >= MAX_DEPTH {
        return Err(cx.pass.limit(LimitKind::ValueDepth).into());
    }
    Ok(())
}

/// Returns a container that a template built, if its elements may be containers.
fn built(value: &GoValue) -> Option<&GoValue> {
    let (core, element) = match value {
        GoValue::List(list) => (list.as_core().is_some(), list.element()),
        GoValue::Map(map) => (map.as_core().is_some(), map.element()),
        _ => return None,
    };
    let holds_more = matches!(element, GoType::Any | GoType::Slice(_) | GoType::Map(_));
    (!core && holds_more).then_some(value)
}

fn entries(container: &GoValue) -> Vec<GoValue> {
    match container {
        GoValue::List(list) => list.iter().collect(),
        GoValue::Map(map) => map.sorted().into_iter().map(|(_, value)| value).collect(),
        _ => Vec::new(),
    }
}
