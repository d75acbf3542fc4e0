//! Functions for types, equality and numeric conversion.

use quillet_core::value::MAX_DEPTH;

use super::super::{FunctionContext, FunctionError, GoFunction, GoList, GoMap, GoType, GoValue};
use super::{args, cast, cost};
use crate::limits::LimitKind;

type FnResult = Result<GoValue, FunctionError>;

const ANY: GoType = GoType::Any;
const STRING: GoType = GoType::String;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("typeOf", &[ANY], type_of),
    GoFunction::new("typeIs", &[STRING, ANY], type_is),
    GoFunction::new("typeIsLike", &[STRING, ANY], type_is_like),
    GoFunction::new("kindOf", &[ANY], kind_of),
    GoFunction::new("kindIs", &[STRING, ANY], kind_is),
    GoFunction::new("deepEqual", &[ANY, ANY], equal),
    GoFunction::new("int", &[ANY], int),
    GoFunction::new("int64", &[ANY], int64),
    GoFunction::new("float64", &[ANY], float64),
    GoFunction::new("atoi", &[STRING], atoi),
    GoFunction::new("toDecimal", &[ANY], to_decimal),
];

/// Returns the value's kind in Go's reflection.
pub(super) fn kind(value: &GoValue) -> &'static str {
    match value {
        GoValue::Nil => "invalid",
        GoValue::Bool(_) => "bool",
        GoValue::Int(_) => "int",
        GoValue::Int32(_) => "int32",
        GoValue::Int64(_) => "int64",
        GoValue::Uint8(_) => "uint8",
        GoValue::Uint64(_) => "uint64",
        GoValue::Float(_) => "float64",
        GoValue::Complex(..) => "complex128",
        GoValue::Str(_) => "string",
        GoValue::List(_) => "slice",
        GoValue::Map(_) => "map",
        GoValue::Func(_) => "func",
        GoValue::Object(object) => match object.integer() {
            Some(_) => "int64",
            None if object.go_type().to_string().starts_with('*') => "ptr",
            None => "struct",
        },
    }
}

fn type_of(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(args::value(args, 0).type_name().into())
}

fn type_is(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok((args::value(args, 1).type_name() == args::chars(args, 0)).into())
}

fn type_is_like(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (wanted, found) = (args::chars(args, 0), args::value(args, 1).type_name());
    Ok((found == wanted || found.strip_prefix('*') == Some(&*wanted)).into())
}

fn kind_of(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(kind(&args::value(args, 0)).into())
}

fn kind_is(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok((kind(&args::value(args, 1)) == args::chars(args, 0)).into())
}

fn equal(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(deep_equal(cx, &args::value(args, 0), &args::value(args, 1))?.into())
}

/// Go's `reflect.DeepEqual`. Values of different types are not equal, so the `int` 1 differs from
/// the `float64` 1. Each compared pair is a step.
pub(super) fn deep_equal(
    cx: &mut FunctionContext<'_, '_>,
    a: &GoValue,
    b: &GoValue,
) -> Result<bool, FunctionError> {
    let mut work = vec![(a.clone(), b.clone())];
    while let Some((a, b)) = work.pop() {
        cx.steps(1)?;
        if a.go_type() != b.go_type() || !shallow_equal(cx, &a, &b, &mut work)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares two values of the same type, and queues their elements for comparison.
fn shallow_equal(
    cx: &mut FunctionContext<'_, '_>,
    a: &GoValue,
    b: &GoValue,
    work: &mut Vec<(GoValue, GoValue)>,
) -> Result<bool, FunctionError> {
    Ok(match (a, b) {
        (GoValue::Nil, GoValue::Nil) => true,
        (GoValue::Bool(a), GoValue::Bool(b)) => a == b,
        (GoValue::Complex(a, b), GoValue::Complex(c, d)) => a == c && b == d,
        (GoValue::Str(a), GoValue::Str(b)) => {
            cost::scan(cx, a.as_bytes().len())?;
            a == b
        }
        (GoValue::List(a), GoValue::List(b)) => {
            cx.steps(a.len())?;
            work.extend(a.iter().zip(b.iter()));
            a.len() == b.len()
        }
        (GoValue::Map(a), GoValue::Map(b)) => {
            cx.steps(a.len())?;
            let (a, b) = (a.sorted(), b.sorted());
            let same = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.0 == b.0);
            let values = |entries: Vec<_>| entries.into_iter().map(|(_, value)| value);
            work.extend(values(a).zip(values(b)));
            same
        }
        (GoValue::Object(a), GoValue::Object(b)) => a.text() == b.text(),
        _ => matches!((a.number(), b.number()), (Some(a), Some(b)) if a == b),
    })
}

fn int(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Int(cast::to_int(&args::value(args, 0))))
}

fn int64(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Int64(cast::to_int(&args::value(args, 0))))
}

fn float64(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Float(cast::to_float(&args::value(args, 0))))
}

fn atoi(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Int(cast::atoi(&args::chars(args, 0)).unwrap_or(0)))
}

/// Parses an octal number, the notation of file modes.
fn to_decimal(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let digits = cost::display(cx, &args::value(args, 0))?;
    let value = i64::from_str_radix(&digits.to_text(), 8).unwrap_or(0);
    Ok(GoValue::Int64(value))
}

/// Returns a deep copy, which does not change with the original.
pub(super) fn copied(cx: &mut FunctionContext<'_, '_>, value: &GoValue) -> FnResult {
    copy_level(cx, value, 0)
}

fn copy_level(cx: &mut FunctionContext<'_, '_>, value: &GoValue, depth: u32) -> FnResult {
    if depth > MAX_DEPTH {
        return Err(cx.pass.limit(LimitKind::ValueDepth).into());
    }
    match value {
        GoValue::List(list) => {
            cost::items(cx, list.len())?;
            let items: Result<Vec<_>, _> = list
                .iter()
                .map(|item| copy_level(cx, &item, depth + 1))
                .collect();
            Ok(GoValue::List(GoList::typed(list.element(), items?)))
        }
        GoValue::Map(map) => {
            let copy = GoMap::typed(map.element());
            cost::items(cx, map.len())?;
            for (key, value) in map.sorted() {
                let value = copy_level(cx, &value, depth + 1)?;
                cost::insert(cx, &copy, key, value)?;
            }
            Ok(GoValue::Map(copy))
        }
        scalar => Ok(scalar.clone()),
    }
}
