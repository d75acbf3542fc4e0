//! Builtins that inspect values: `index`, `slice`, `len`, `not` and the comparisons.

use quillet_core::Value;

use super::super::ast::BuiltinFunction;
use super::super::collection::GoList;
use super::super::function::GoFunction;
use super::super::types::GoType;
use super::super::value::GoValue;
use super::compare;
use super::item::{Basic, DotValue};

/// Runs a builtin. The caller has checked the number of arguments.
pub(super) fn run<'a>(
    builtin: BuiltinFunction,
    items: &[DotValue<'a>],
) -> Result<DotValue<'a>, String> {
    let bool = |value| Ok(DotValue::own(GoValue::Bool(value)));
    match (builtin, items) {
        (BuiltinFunction::Not, [item]) => bool(!item.is_true()),
        (BuiltinFunction::Len, [item]) => {
            length(item).map(|length| DotValue::own(GoValue::Int(length)))
        }
        (BuiltinFunction::Index, [item, indexes @ ..]) => index(item, indexes),
        (BuiltinFunction::Slice, [item, indexes @ ..]) => slice(item, indexes),
        (BuiltinFunction::Eq, [first, others @ ..]) => bool(compare::equal_any(first, others)?),
        (BuiltinFunction::Ne, [a, b]) => bool(!compare::equal(a, b)?),
        (BuiltinFunction::Lt, [a, b]) => bool(compare::less(a, b)?),
        (BuiltinFunction::Le, [a, b]) => bool(compare::less_or_equal(a, b)?),
        (BuiltinFunction::Gt, [a, b]) => bool(!compare::less_or_equal(a, b)?),
        (BuiltinFunction::Ge, [a, b]) => bool(!compare::less(a, b)?),
        _ => Err("wrong number of arguments".to_owned()),
    }
}

fn length(item: &DotValue<'_>) -> Result<i64, String> {
    let length = match item {
        // Go's `len` requests the type of an invalid value here, which panics.
        DotValue::Missing => {
            return Err("reflect: call of reflect.Value.Type on zero Value".to_owned());
        }
        DotValue::Nil => return Err("len of nil pointer".to_owned()),
        DotValue::Core(Value::List(list), _) => list.len(),
        DotValue::Core(Value::Map(map), _) => map.len(),
        DotValue::Own(GoValue::List(list), _) => list.len(),
        DotValue::Own(GoValue::Map(map), _) => map.len(),
        item => match item.as_bytes() {
            Some(text) => text.len(),
            None => return Err(format!("len of type {}", item.type_name())),
        },
    };
    Ok(length as i64)
}

fn index<'a>(item: &DotValue<'a>, indexes: &[DotValue<'a>]) -> Result<DotValue<'a>, String> {
    if item.is_nil() {
        return Err("index of untyped nil".to_owned());
    }
    let mut item = item.clone();
    for index in indexes {
        item = index_once(&item, index)?;
    }
    Ok(item)
}

fn index_once<'a>(item: &DotValue<'a>, index: &DotValue<'a>) -> Result<DotValue<'a>, String> {
    match item {
        DotValue::Missing | DotValue::Nil => Err("index of nil pointer".to_owned()),
        DotValue::Core(Value::List(list), _) => {
            let value = list.get(position(index, list.len())?);
            value
                .map(DotValue::element)
                .ok_or_else(|| out_of_range("slice"))
        }
        DotValue::Own(GoValue::List(list), _) => {
            let value = list.get(position(index, list.len())?);
            let value = value.map(|value| DotValue::own_element(value, list.element()));
            value.ok_or_else(|| out_of_range("slice"))
        }
        DotValue::Core(Value::Map(map), _) => {
            let key = std::str::from_utf8(key(index)?).unwrap_or_default();
            Ok(map.get(key).map_or(DotValue::Nil, DotValue::element))
        }
        DotValue::Own(GoValue::Map(map), _) => {
            let element = map.element();
            let value = map.get(key(index)?);
            let value = value.unwrap_or_else(|| GoValue::zero(element));
            Ok(DotValue::own_element(value, element))
        }
        item => {
            let Some(text) = item.as_bytes() else {
                return Err(format!("can't index item of type {}", item.type_name()));
            };
            let byte = text.get(position(index, text.len())?);
            let byte = byte.map(|byte| DotValue::own(GoValue::Uint8(*byte)));
            byte.ok_or_else(|| out_of_range("string"))
        }
    }
}

/// Returns Go's panic message. Go's own index check accepts the length as an index, but reflection
/// panics.
fn out_of_range(kind: &str) -> String {
    format!("reflect: {kind} index out of range")
}

/// Parses an index between 0 and `most`.
fn position(index: &DotValue<'_>, most: usize) -> Result<usize, String> {
    let position = match index.basic() {
        Basic::Int(value) => value,
        Basic::Uint(value) => value as i64,
        _ if index.is_nil() => return Err("cannot index slice/array with nil".to_owned()),
        _ => {
            let go_type = index.type_name();
            return Err(format!("cannot index slice/array with type {go_type}"));
        }
    };
    match usize::try_from(position) {
        Ok(found) if found <= most => Ok(found),
        _ => Err(format!("index out of range: {position}")),
    }
}

fn key<'i>(index: &'i DotValue<'_>) -> Result<&'i [u8], String> {
    if index.is_nil() {
        return Err("value is nil; should be of type string".to_owned());
    }
    let wrong = || format!("value has type {}; should be string", index.type_name());
    index.as_bytes().ok_or_else(wrong)
}

fn slice<'a>(item: &DotValue<'a>, indexes: &[DotValue<'a>]) -> Result<DotValue<'a>, String> {
    if item.is_nil() {
        return Err("slice of untyped nil".to_owned());
    }
    if indexes.len() > 3 {
        return Err(format!("too many slice indexes: {}", indexes.len()));
    }
    if let Some(text) = item.as_bytes() {
        if indexes.len() == 3 {
            return Err("cannot 3-index slice a string".to_owned());
        }
        let (start, end) = bounds(indexes, text.len())?;
        return Ok(DotValue::own(GoValue::Str(text[start..end].into())));
    }
    let list = match item {
        DotValue::Core(Value::List(list), _) => GoList::core(list.clone()),
        DotValue::Own(GoValue::List(list), _) => list.clone(),
        other => return Err(format!("can't slice item of type {}", other.type_name())),
    };
    let (start, end) = bounds(indexes, list.len())?;
    let items = list.iter().skip(start).take(end - start).collect();
    Ok(DotValue::own(GoValue::List(GoList::typed(
        list.element(),
        items,
    ))))
}

fn bounds(indexes: &[DotValue<'_>], length: usize) -> Result<(usize, usize), String> {
    let mut found = [0, length, length];
    for (i, index) in indexes.iter().enumerate() {
        // Unlike `index`, Go's `slice` does not accept a number inside an interface.
        if let DotValue::Nil | DotValue::Core(_, true) | DotValue::Own(_, true) = index {
            return Err("cannot index slice/array with type interface {}".to_owned());
        }
        found[i] = position(index, length)?;
    }
    let [start, end, most] = found;
    if start > end {
        return Err(format!("invalid slice index: {start} > {end}"));
    }
    if end > most {
        return Err(format!("invalid slice index: {end} > {most}"));
    }
    Ok((start, end))
}

/// Checks the arguments of a function value like Go's builtin `call`.
pub(super) fn call_arguments(
    name: &str,
    function: &GoFunction,
    items: &[DotValue<'_>],
) -> Result<Vec<GoValue>, String> {
    let given = items.len();
    let fixed = function.params.len() - usize::from(function.variadic);
    if function.variadic && given < fixed {
        return Err(format!(
            "wrong number of args for {name}: got {given} want at least {fixed}"
        ));
    }
    if !function.variadic && given != fixed {
        return Err(format!(
            "wrong number of args for {name}: got {given} want {fixed}"
        ));
    }
    let rest = function.params.last().copied().unwrap_or(GoType::Any);
    let types = function
        .params
        .iter()
        .copied()
        .chain(std::iter::repeat(rest));
    let arguments = items.iter().zip(types).enumerate();
    arguments
        .map(|(i, (item, go_type))| {
            prepared(item, go_type).map_err(|reason| format!("arg {i}: {reason}"))
        })
        .collect()
}

fn prepared(item: &DotValue<'_>, go_type: GoType) -> Result<GoValue, String> {
    match item.go_type() {
        None if go_type.can_be_nil() => Ok(GoValue::zero(go_type)),
        None => Err(format!("value is nil; should be of type {go_type}")),
        Some(found) if found == go_type || go_type == GoType::Any => Ok(item.to_value()),
        Some(found) => match (item.basic(), go_type) {
            (Basic::Int(value), _) => converted(value, go_type),
            (Basic::Uint(value), _) => converted(value as i64, go_type),
            _ => None,
        }
        .ok_or_else(|| format!("value has type {found}; should be {go_type}")),
    }
}

/// Converts an integer to another integer type, truncating it.
fn converted(value: i64, go_type: GoType) -> Option<GoValue> {
    Some(match go_type {
        GoType::Int => GoValue::Int(value),
        GoType::Int32 => GoValue::Int32(value as i32),
        GoType::Int64 => GoValue::Int64(value),
        GoType::Uint8 => GoValue::Uint8(value as u8),
        GoType::Uint64 => GoValue::Uint64(value as u64),
        _ => return None,
    })
}
