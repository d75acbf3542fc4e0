//! Functions for maps.
//!
//! As in Go, a map built by a template is a reference, so all holders see the changes of `set`. The
//! caller's variables never change: `set` and `unset` reject them, and `merge` changes a copy.

use super::super::{FunctionContext, FunctionError, GoFunction, GoMap, GoType, GoValue};
use super::{args, cost, flow, types};

type FnResult = Result<GoValue, FunctionError>;

const ANY: GoType = GoType::Any;
const MAP: GoType = GoType::MAP;
const STRING: GoType = GoType::String;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::variadic("dict", &[ANY], dict),
    GoFunction::new("get", &[MAP, STRING], get),
    GoFunction::new("set", &[MAP, STRING, ANY], set).with_effect(),
    GoFunction::new("unset", &[MAP, STRING], unset).with_effect(),
    GoFunction::new("hasKey", &[MAP, STRING], has_key),
    GoFunction::variadic("keys", &[MAP], keys),
    GoFunction::new("values", &[MAP], values),
    GoFunction::variadic("pluck", &[STRING, MAP], pluck),
    GoFunction::variadic("pick", &[MAP, STRING], pick),
    GoFunction::variadic("omit", &[MAP, STRING], omit),
    GoFunction::variadic("dig", &[ANY], dig),
    GoFunction::variadic("merge", &[MAP, MAP], merge).with_effect(),
    GoFunction::variadic("mustMerge", &[MAP, MAP], merge).with_effect(),
    GoFunction::variadic("mergeOverwrite", &[MAP, MAP], merge_overwrite).with_effect(),
    GoFunction::variadic("mustMergeOverwrite", &[MAP, MAP], merge_overwrite).with_effect(),
    GoFunction::new("deepCopy", &[ANY], deep_copy),
    GoFunction::new("mustDeepCopy", &[ANY], deep_copy),
];

fn dict(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let map = GoMap::new();
    for pair in args.chunks(2) {
        let (key, value) = match pair {
            [key, value] => (key, value.clone()),
            [key] => (key, "".into()),
            _ => continue,
        };
        let key = cost::display(cx, key)?;
        cost::insert(cx, &map, key, value)?;
    }
    Ok(GoValue::Map(map))
}

fn get(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let found = args::map(args, 0).get(args::text(args, 1));
    Ok(found.unwrap_or_else(|| "".into()))
}

fn set(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let map = args::map(args, 0);
    let key = args::text(args, 1).into();
    cost::insert(cx, &map, key, args::value(args, 2))?;
    Ok(GoValue::Map(map))
}

fn unset(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let map = args::map(args, 0);
    map.remove(args::text(args, 1))?;
    Ok(GoValue::Map(map))
}

fn has_key(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(args::map(args, 0).get(args::text(args, 1)).is_some().into())
}

/// Returns the keys in sorted order; Sprig's order is random.
fn keys(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let mut keys = Vec::new();
    for at in 0..args.len() {
        let map = args::map(args, at);
        cost::items(cx, map.len())?;
        keys.extend(map.sorted().into_iter().map(|(key, _)| key));
    }
    cost::strings(cx, keys)
}

/// Returns the values in key order; Sprig's order is random.
fn values(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let map = args::map(args, 0);
    cost::items(cx, map.len())?;
    cost::list(
        cx,
        map.sorted().into_iter().map(|(_, value)| value).collect(),
    )
}

fn pluck(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let key = args::text(args, 0);
    cost::items(cx, args.len())?;
    let found = (1..args.len()).filter_map(|at| args::map(args, at).get(key));
    cost::list(cx, found.collect())
}

fn pick(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (map, picked) = (args::map(args, 0), GoMap::new());
    for key in args::rest(args, 1).iter().filter_map(GoValue::as_bytes) {
        if let Some(value) = map.get(key) {
            cost::insert(cx, &picked, key.into(), value)?;
        }
    }
    Ok(GoValue::Map(picked))
}

fn omit(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let left = cost::copy(cx, &args::map(args, 0))?;
    for key in args::rest(args, 1).iter().filter_map(GoValue::as_bytes) {
        left.remove(key)?;
    }
    Ok(GoValue::Map(left))
}

/// Implements `dig KEY... DEFAULT DICT`.
fn dig(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let [path @ .., default, start] = args else {
        return Err("dig needs at least three arguments".into());
    };
    if path.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let mut current = start.clone();
    for key in path {
        let GoValue::Map(map) = current else {
            return Err(conversion(&current, MAP));
        };
        let Some(key) = key.as_bytes() else {
            return Err(conversion(key, STRING));
        };
        match map.get(key) {
            Some(value) => current = value,
            None => return Ok(default.clone()),
        }
    }
    Ok(current)
}

/// Returns Go's message for a failed type assertion.
fn conversion(value: &GoValue, wanted: GoType) -> FunctionError {
    let found = match value {
        GoValue::Nil => "nil".to_owned(),
        other => other.type_name(),
    };
    format!("interface conversion: interface {{}} is {found}, not {wanted}").into()
}

fn merge(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    merge_all(cx, args, false)
}

fn merge_overwrite(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    merge_all(cx, args, true)
}

fn merge_all(cx: &mut FunctionContext<'_, '_>, args: &[GoValue], overwrite: bool) -> FnResult {
    let target = own(cx, &args::map(args, 0))?;
    for at in 1..args.len() {
        merge_into(cx, &target, &args::map(args, at), overwrite)?;
    }
    Ok(GoValue::Map(target))
}

/// Returns a map built by a template unchanged, and a copy of the caller's map.
fn own(cx: &mut FunctionContext<'_, '_>, map: &GoMap) -> Result<GoMap, FunctionError> {
    match map.as_core() {
        Some(_) => cost::copy(cx, map),
        None => Ok(map.clone()),
    }
}

/// Merges maps by the rules of the Go library mergo. An empty value counts as missing, maps are
/// merged recursively, and lists are replaced.
///
/// The maximum depth of values limits the recursion.
fn merge_into(
    cx: &mut FunctionContext<'_, '_>,
    target: &GoMap,
    source: &GoMap,
    overwrite: bool,
) -> Result<(), FunctionError> {
    if target.is(source) {
        return Ok(());
    }
    cost::items(cx, source.len())?;
    for (key, new) in source.sorted() {
        let old = target.get(key.as_bytes());
        if matches!(new, GoValue::Nil) && !overwrite {
            continue;
        }
        if let (Some(GoValue::Map(old)), GoValue::Map(new)) = (&old, &new)
            && !old.is_empty()
        {
            let merged = own(cx, old)?;
            merge_into(cx, &merged, new, overwrite)?;
            if !merged.is(old) {
                cost::insert(cx, target, key, GoValue::Map(merged))?;
            }
            continue;
        }
        if overwrite || old.is_none_or(|old| flow::is_empty(&old)) {
            cost::insert(cx, target, key, new)?;
        }
    }
    Ok(())
}

fn deep_copy(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let value = args::value(args, 0);
    match value {
        GoValue::Nil => Err("reflect: call of reflect.Value.Type on zero Value".into()),
        value => types::copied(cx, &value),
    }
}
