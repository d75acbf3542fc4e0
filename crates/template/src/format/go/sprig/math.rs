//! Arithmetic: whole numbers like Go's `int64`, floats in decimal.

use super::super::{FunctionContext, FunctionError, GoFunction, GoType, GoValue};
use super::cast::{to_float, to_int};
use super::decimal::Decimal;
use super::{args, cast};

type FnResult = Result<GoValue, FunctionError>;

const ANY: GoType = GoType::Any;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::variadic("add", &[ANY], add),
    GoFunction::new("add1", &[ANY], add1),
    GoFunction::new("sub", &[ANY, ANY], sub),
    GoFunction::variadic("mul", &[ANY, ANY], mul),
    GoFunction::new("div", &[ANY, ANY], div),
    GoFunction::new("mod", &[ANY, ANY], modulo),
    GoFunction::variadic("max", &[ANY, ANY], max),
    GoFunction::variadic("biggest", &[ANY, ANY], max),
    GoFunction::variadic("min", &[ANY, ANY], min),
    GoFunction::variadic("maxf", &[ANY, ANY], maxf),
    GoFunction::variadic("minf", &[ANY, ANY], minf),
    GoFunction::new("floor", &[ANY], floor),
    GoFunction::new("ceil", &[ANY], ceil),
    GoFunction::variadic("round", &[ANY, GoType::Int, GoType::Float64], round),
    GoFunction::variadic("addf", &[ANY], addf),
    GoFunction::new("add1f", &[ANY], add1f),
    GoFunction::variadic("subf", &[ANY, ANY], subf),
    GoFunction::variadic("mulf", &[ANY, ANY], mulf),
    GoFunction::variadic("divf", &[ANY, ANY], divf),
];

fn ints(args: &[GoValue]) -> impl Iterator<Item = i64> + '_ {
    args.iter().map(to_int)
}

fn add(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Int64(ints(args).fold(0, i64::wrapping_add)))
}

fn add1(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let number = to_int(&args::value(args, 0));
    Ok(GoValue::Int64(number.wrapping_add(1)))
}

fn sub(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (a, b) = operands(args);
    Ok(GoValue::Int64(a.wrapping_sub(b)))
}

fn mul(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Int64(ints(args).fold(1, i64::wrapping_mul)))
}

fn operands(args: &[GoValue]) -> (i64, i64) {
    (to_int(&args::value(args, 0)), to_int(&args::value(args, 1)))
}

fn div(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    match operands(args) {
        (_, 0) => Err("runtime error: integer divide by zero".into()),
        (a, b) => Ok(GoValue::Int64(a.wrapping_div(b))),
    }
}

fn modulo(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    match operands(args) {
        (_, 0) => Err("runtime error: integer divide by zero".into()),
        (a, b) => Ok(GoValue::Int64(a.wrapping_rem(b))),
    }
}

fn max(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Int64(ints(args).max().unwrap_or(0)))
}

fn min(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Int64(ints(args).min().unwrap_or(0)))
}

/// Returns the minimum or maximum. Unlike Rust, Go returns NaN if one of the numbers is NaN.
fn extreme(args: &[GoValue], pick: fn(f64, f64) -> f64) -> GoValue {
    let pick = |a: f64, b: f64| {
        if a.is_nan() || b.is_nan() {
            f64::NAN
        } else {
            pick(a, b)
        }
    };
    GoValue::Float(args.iter().map(to_float).reduce(pick).unwrap_or(0.0))
}

fn maxf(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(extreme(args, f64::max))
}

fn minf(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(extreme(args, f64::min))
}

fn floor(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(to_float(&args::value(args, 0)).floor().into())
}

fn ceil(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(to_float(&args::value(args, 0)).ceil().into())
}

/// Implements `round NUMBER PLACES [HALF]`. The last place is rounded up if the remainder is at
/// least `HALF` (0.5 by default).
fn round(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let up_from = args.get(2).map_or(0.5, cast::to_float);
    let places = args::int(args, 1).clamp(-400, 400);
    let power = 10_f64.powi(i32::try_from(places).unwrap_or(0));
    let digit = power * to_float(&args::value(args, 0));
    let rounded = if digit.fract() >= up_from {
        digit.ceil()
    } else {
        digit.floor()
    };
    Ok((rounded / power).into())
}

/// Calculates in decimal, so that 0.1 plus 0.2 is 0.3.
fn in_decimal(
    first: &GoValue,
    others: &[GoValue],
    operate: fn(Decimal, Decimal) -> Option<Decimal>,
) -> FnResult {
    let mut result = decimal(first)?;
    for other in others {
        result = operate(result, decimal(other)?).ok_or("the number has too many digits")?;
    }
    Ok(result.to_float().into())
}

fn decimal(value: &GoValue) -> Result<Decimal, FunctionError> {
    let float = to_float(value);
    Decimal::from_float(float).ok_or_else(|| format!("Cannot create a Decimal from {float}").into())
}

fn addf(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    in_decimal(&GoValue::Float(0.0), args, Decimal::plus)
}

fn add1f(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    in_decimal(&args::value(args, 0), &[GoValue::Float(1.0)], Decimal::plus)
}

fn subf(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    in_decimal(&args::value(args, 0), args::rest(args, 1), Decimal::minus)
}

fn mulf(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    in_decimal(&args::value(args, 0), args::rest(args, 1), Decimal::times)
}

fn divf(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let divisors = args::rest(args, 1);
    if divisors.iter().any(|divisor| to_float(divisor) == 0.0) {
        return Err("decimal division by 0".into());
    }
    in_decimal(&args::value(args, 0), divisors, Decimal::over)
}
