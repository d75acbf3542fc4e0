//! Functions for the Go vectors, as described in their file.

use std::rc::Rc;

use quillet_template::format::go::fmt;
use quillet_template::format::go::{
    FunctionContext, FunctionError, GoFunction, GoList, GoMap, GoType, GoValue,
};

type Result = std::result::Result<GoValue, FunctionError>;

/// All functions.
pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("zero", &[], |_, _| Ok("zero".into())),
    GoFunction::new("one", &[GoType::String], |_, a| wrapped("one", a)),
    GoFunction::new("two", &[GoType::String, GoType::String], |_, a| {
        wrapped("two", a)
    }),
    GoFunction::variadic("vari", &[GoType::String, GoType::String], vari),
    GoFunction::variadic("add", &[GoType::Int], add),
    GoFunction::new("addf", &[GoType::Float64, GoType::Float64], addf),
    GoFunction::new("isbool", &[GoType::Bool], is_bool),
    GoFunction::new("echo", &[GoType::Any], |_, a| Ok(a[0].clone())),
    GoFunction::new("typeOf", &[GoType::Any], type_of),
    GoFunction::variadic("list", &[GoType::Any], |_, a| Ok(list(a))),
    GoFunction::variadic("dict", &[GoType::Any], dict),
    GoFunction::new("fail", &[GoType::String], |_, a| Err(text(&a[0]).into())),
    GoFunction::new("nilany", &[], |_, _| Ok(GoValue::Nil)),
    GoFunction::new("toInt", &[GoType::Any], to_int),
    GoFunction::new("toFloat", &[GoType::Any], to_float),
    GoFunction::new("mkfn", &[], |_, _| Ok(GoValue::Func(Rc::new(MADE)))),
    GoFunction::new("boom", &[], |_, _| Err("boom happened".into())),
    GoFunction::new("trace", &[GoType::String, GoType::Any], trace),
    GoFunction::new("traced", &[], traced),
    GoFunction::variadic("tool", &[GoType::Any], tool),
    GoFunction::new("upper", &[GoType::String], |_, a| {
        Ok(text(&a[0]).to_uppercase().into())
    }),
    GoFunction::new("join", &[GoType::String, GoType::LIST], join),
    GoFunction::variadic("tool_lookup_ref", &[GoType::Any], lookup),
];

/// The function value that `mkfn` returns.
const MADE: GoFunction = GoFunction {
    go_type: GoType::Named("func(string) string"),
    ..GoFunction::new("fn", &[GoType::String], |_, a| wrapped("fn", a))
};

fn text(value: &GoValue) -> String {
    String::from_utf8_lossy(bytes(value)).into_owned()
}

fn bytes(value: &GoValue) -> &[u8] {
    value.as_bytes().unwrap_or_default()
}

fn wrapped(name: &str, arguments: &[GoValue]) -> Result {
    let texts: Vec<&[u8]> = arguments.iter().map(bytes).collect();
    Ok([name.as_bytes(), b"(", &texts.join(&b","[..]), b")"]
        .concat()
        .into())
}

fn list(items: &[GoValue]) -> GoValue {
    GoValue::List(GoList::new(items.to_vec()))
}

fn printed(operands: &[GoValue]) -> std::result::Result<Vec<u8>, FunctionError> {
    let mut out = Vec::new();
    fmt::print(&mut out, 1 << 20, operands).map_err(|_| "too large")?;
    Ok(out)
}

fn vari(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    let texts: Vec<&[u8]> = arguments[1..].iter().map(bytes).collect();
    Ok(texts.join(bytes(&arguments[0])).into())
}

fn add(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    let ints = arguments.iter().map(|argument| match argument {
        GoValue::Int(value) => *value,
        _ => 0,
    });
    Ok(GoValue::Int(ints.fold(0, i64::wrapping_add)))
}

fn addf(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    match arguments {
        [GoValue::Float(a), GoValue::Float(b)] => Ok(GoValue::Float(a + b)),
        _ => Err("addf: not two numbers".into()),
    }
}

fn is_bool(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    Ok(if arguments[0].is_true() { "yes" } else { "no" }.into())
}

fn type_of(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    let name = match &arguments[0] {
        GoValue::Nil => "nil",
        GoValue::Bool(_) => "bool",
        GoValue::Int(_) => "int",
        GoValue::Float(_) => "float",
        GoValue::Complex(..) => "complex",
        GoValue::Str(_) => "string",
        GoValue::List(_) => "list",
        GoValue::Map(_) => "map",
        other => return Ok(format!("other:{}", other.type_name()).into()),
    };
    Ok(name.into())
}

fn dict(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    if !arguments.len().is_multiple_of(2) {
        return Err("dict: odd number of arguments".into());
    }
    let map = GoMap::new();
    for pair in arguments.chunks(2) {
        let GoValue::Str(key) = &pair[0] else {
            return Err("dict: keys must be strings".into());
        };
        map.insert(key.clone(), pair[1].clone())?;
    }
    Ok(GoValue::Map(map))
}

fn to_int(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    match arguments[0] {
        GoValue::Float(value) => Ok(GoValue::Int(truncated(value))),
        GoValue::Int(value) => Ok(GoValue::Int(value)),
        _ => Err("toInt: not a number".into()),
    }
}

/// Converts a float like Go on amd64: a value out of range becomes the smallest integer.
fn truncated(value: f64) -> i64 {
    if value.abs() < 9_223_372_036_854_775_808.0 {
        value as i64
    } else {
        i64::MIN
    }
}

fn to_float(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    match arguments[0] {
        GoValue::Float(value) => Ok(GoValue::Float(value)),
        GoValue::Int(value) => Ok(GoValue::Float(value as f64)),
        _ => Err("toFloat: not a number".into()),
    }
}

/// Tags in the order of the calls of `trace`.
#[derive(Default)]
struct Tags(Vec<String>);

fn trace(context: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    let tag = text(&arguments[0]);
    context.state::<Tags>().0.push(tag);
    Ok(arguments[1].clone())
}

fn traced(context: &mut FunctionContext<'_, '_>, _: &[GoValue]) -> Result {
    Ok(context.state::<Tags>().0.join(",").into())
}

fn tool(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    let map = GoMap::new();
    map.insert("args".into(), list(arguments))?;
    map.insert("n".into(), GoValue::Float(arguments.len() as f64))?;
    map.insert("ok".into(), GoValue::Bool(true))?;
    Ok(GoValue::Map(map))
}

fn join(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    let separator = text(&arguments[0]).into_bytes();
    let items = arguments[1].as_list().into_iter().flat_map(GoList::iter);
    let texts: std::result::Result<Vec<_>, _> = items.map(|item| printed(&[item])).collect();
    Ok(texts?.join(&separator[..]).into())
}

fn lookup(_: &mut FunctionContext<'_, '_>, arguments: &[GoValue]) -> Result {
    let mut reference = b"ref:".to_vec();
    reference.extend(printed(arguments)?);
    Ok(reference.into())
}
