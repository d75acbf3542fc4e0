//! Defaults, choices, `fail` and `required`, and templates called in expressions.

use super::super::{FunctionContext, FunctionError, GoFunction, GoType, GoValue};
use super::{args, cost};

type FnResult = Result<GoValue, FunctionError>;

const ANY: GoType = GoType::Any;
const STRING: GoType = GoType::String;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::variadic("default", &[ANY, ANY], default),
    GoFunction::new("empty", &[ANY], empty),
    GoFunction::variadic("coalesce", &[ANY], coalesce),
    GoFunction::variadic("all", &[ANY], all),
    GoFunction::variadic("any", &[ANY], any),
    GoFunction::new("ternary", &[ANY, ANY, GoType::Bool], ternary),
    GoFunction::new("fail", &[STRING], fail).with_effect(),
    GoFunction::new("include", &[STRING, ANY], include).including(),
    GoFunction::new("required", &[STRING, ANY], required).with_effect(),
];

/// Whether Sprig treats a value as empty: nil, or the zero value of its type.
pub(super) fn is_empty(value: &GoValue) -> bool {
    match value {
        // A struct is never empty.
        GoValue::Object(object) => object.integer() == Some(0),
        other => !other.is_true(),
    }
}

fn default(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let given = args.get(1).filter(|given| !is_empty(given));
    Ok(given.cloned().unwrap_or_else(|| args::value(args, 0)))
}

fn empty(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(is_empty(&args::value(args, 0)).into())
}

fn coalesce(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let found = args.iter().find(|value| !is_empty(value));
    Ok(found.cloned().unwrap_or_default())
}

fn all(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok((!args.iter().any(is_empty)).into())
}

fn any(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok((!args.iter().all(is_empty)).into())
}

fn ternary(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(args::value(args, usize::from(!args::boolean(args, 2))))
}

fn fail(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let message = args::chars(args, 0);
    cost::scan(cx, message.len())?;
    Err(message.into_owned().into())
}

/// Helm's `include`, which returns the output of a template as text.
fn include(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let name = args::chars(args, 0);
    cx.include(&name, args::value(args, 1))
}

/// Helm's `required`, which returns its value. If that is nil or an empty text, it returns an error
/// with the author's message.
fn required(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let value = args::value(args, 1);
    let missing = match &value {
        GoValue::Nil => true,
        GoValue::Str(text) => text.as_bytes().is_empty(),
        _ => false,
    };
    if missing {
        return Err(args::chars(args, 0).into_owned().into());
    }
    Ok(value)
}
