//! SQLite's mathematical functions (its page "Built-In Mathematical SQL Functions"). The linked
//! SQLite is built without them, but models expect them.
//!
//! As in SQLite, an argument that is not a number gives NULL, and so does an undefined result.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

type OfOne = fn(f64) -> f64;
type OfTwo = fn(f64, f64) -> f64;

/// Functions of one argument.
const OF_ONE: [(&str, OfOne); 20] = [
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("degrees", f64::to_degrees),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log", f64::log10),
    ("log10", f64::log10),
    ("log2", f64::log2),
    ("radians", f64::to_radians),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
];

/// Functions of two arguments. The first argument of `log` is its base.
const OF_TWO: [(&str, OfTwo); 5] = [
    ("atan2", f64::atan2),
    ("log", |base, x| x.ln() / base.ln()),
    ("mod", |x, y| x % y),
    ("pow", f64::powf),
    ("power", f64::powf),
];

/// Functions that return an integer unchanged.
const ROUNDING: [(&str, OfOne); 4] = [
    ("ceil", f64::ceil),
    ("ceiling", f64::ceil),
    ("floor", f64::floor),
    ("trunc", f64::trunc),
];

/// Returns the names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let one = OF_ONE.iter().chain(&ROUNDING).map(|(name, _)| *name);
    one.chain(OF_TWO.iter().map(|(name, _)| *name))
        .chain(["pi"])
}

/// Registers the functions on a connection.
pub(super) fn add(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    for (name, function) in OF_ONE {
        let call =
            move |context: &Context<'_>| Ok(number(context, 0).and_then(|x| real(function(x))));
        connection.create_scalar_function(name, 1, flags, call)?;
    }
    for (name, function) in OF_TWO {
        let call = move |context: &Context<'_>| {
            let both = number(context, 0).zip(number(context, 1));
            Ok(both.and_then(|(x, y)| real(function(x, y))))
        };
        connection.create_scalar_function(name, 2, flags, call)?;
    }
    for (name, function) in ROUNDING {
        let call = move |context: &Context<'_>| Ok(rounded(context, function));
        connection.create_scalar_function(name, 1, flags, call)?;
    }
    connection.create_scalar_function("pi", 0, flags, |_| Ok(std::f64::consts::PI))
}

fn rounded(context: &Context<'_>, function: OfOne) -> Option<Value> {
    match context.get_raw(0) {
        ValueRef::Integer(whole) => Some(Value::Integer(whole)),
        _ => number(context, 0)
            .and_then(|x| real(function(x)))
            .map(Value::Real),
    }
}

/// Returns an argument as a number. Numeric text counts as a number.
fn number(context: &Context<'_>, argument: usize) -> Option<f64> {
    match context.get_raw(argument) {
        // These functions compute with floating-point numbers.
        #[expect(clippy::cast_precision_loss, reason = "as SQLite does")]
        ValueRef::Integer(whole) => Some(whole as f64),
        ValueRef::Real(real) => Some(real),
        ValueRef::Text(text) => {
            let text = std::str::from_utf8(text).ok()?.trim();
            // Rust parses "inf" as a number, but SQLite does not.
            let digits = |b: u8| b.is_ascii_digit() || b"+-.eE".contains(&b);
            text.parse().ok().filter(|_| text.bytes().all(digits))
        }
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

fn real(result: f64) -> Option<f64> {
    (!result.is_nan()).then_some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_sqlites_page() {
        let connection = Connection::open_in_memory().unwrap();
        add(&connection).unwrap();
        for (expression, expected) in [
            ("ceil(2.1)", "3.0"),
            ("ceil(2)", "2"),
            ("floor(-2.1)", "-3.0"),
            ("trunc('2.9')", "2.0"),
            ("sqrt(16)", "4.0"),
            ("sqrt(-1)", "NULL"),
            ("sqrt('x')", "NULL"),
            ("sqrt(NULL)", "NULL"),
            ("sqrt('inf')", "NULL"),
            ("log(100)", "2.0"),
            ("log(2, 8)", "3.0"),
            ("ln(1)", "0.0"),
            ("mod(7, 4)", "3.0"),
            ("power(2, 10)", "1024.0"),
            ("round(pi(), 4)", "3.1416"),
            ("degrees(pi())", "180.0"),
        ] {
            let sql = format!("SELECT quote({expression})");
            let found: String = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            assert_eq!(found, expected, "{expression}");
        }
    }
}
