//! Tests: the operators after `is`.

use super::ast::CompareOperator;
use super::call::EvaluatedArguments;
use super::eval::{Evaluator, fail};
use super::filters;
use super::value::Value;
use crate::StopReason;

type TestFn = fn(&mut Evaluator<'_, '_>, &Value, &EvaluatedArguments) -> Result<bool, StopReason>;

pub(super) struct Test {
    pub(super) name: &'static str,
    /// Whether the test accepts undefined values.
    pub(super) of_undefined: bool,
    pub(super) run: TestFn,
}

impl Test {
    /// Whether the test is `defined`.
    pub(super) fn is_defined(&self) -> bool {
        self.name == "defined"
    }
}

impl std::fmt::Debug for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn test(name: &'static str, run: TestFn) -> Test {
    Test {
        name,
        of_undefined: false,
        run,
    }
}

static TESTS: &[Test] = &[
    Test {
        name: "defined",
        of_undefined: true,
        run: |_, value, _| Ok(!value.is_undefined()),
    },
    Test {
        name: "undefined",
        of_undefined: true,
        run: |_, value, _| Ok(value.is_undefined()),
    },
    test("none", |_, value, _| Ok(matches!(value, Value::None))),
    test("boolean", |_, value, _| Ok(matches!(value, Value::Bool(_)))),
    test("true", |_, value, _| Ok(matches!(value, Value::Bool(true)))),
    test("false", |_, value, _| {
        Ok(matches!(value, Value::Bool(false)))
    }),
    test("integer", |_, value, _| Ok(matches!(value, Value::Int(_)))),
    test("float", |_, value, _| Ok(matches!(value, Value::Float(_)))),
    test("number", |_, value, _| Ok(value.as_float().is_some())),
    test("string", |_, value, _| Ok(matches!(value, Value::Str(_)))),
    test("mapping", |_, value, _| Ok(matches!(value, Value::Dict(_)))),
    test("sequence", |_, value, _| Ok(is_sequence(value))),
    test("iterable", |_, value, _| Ok(is_iterable(value))),
    test("callable", |_, value, _| Ok(is_callable(value))),
    test("escaped", |_, _, _| Ok(false)),
    test("odd", |e, value, _| Ok(remainder(e, value, 2)? == 1)),
    test("even", |e, value, _| Ok(remainder(e, value, 2)? == 0)),
    test("divisibleby", |e, value, given| {
        let by = given.int(0, "num", 0)?;
        Ok(remainder(e, value, by)? == 0)
    }),
    test("lower", |e, value, _| {
        let text = e.text(value)?;
        e.scan(text.len())?;
        Ok(is_cased(&text, char::is_lowercase, char::is_uppercase))
    }),
    test("upper", |e, value, _| {
        let text = e.text(value)?;
        e.scan(text.len())?;
        Ok(is_cased(&text, char::is_uppercase, char::is_lowercase))
    }),
    test("sameas", |e, value, given| {
        e.equal(value, given.need(0, "other")?)
    }),
    test("in", |e, value, given| {
        e.contains(given.need(0, "seq")?, value)
    }),
    test("filter", |e, value, _| {
        e.key(value)?;
        Ok(filters::find(&e.text(value)?).is_some())
    }),
    test("test", |e, value, _| {
        e.key(value)?;
        Ok(find(&e.text(value)?).is_some())
    }),
    test("eq", |e, value, given| {
        compare(e, CompareOperator::Equal, value, given)
    }),
    test("==", |e, value, given| {
        compare(e, CompareOperator::Equal, value, given)
    }),
    test("equalto", |e, value, given| {
        compare(e, CompareOperator::Equal, value, given)
    }),
    test("ne", |e, value, given| {
        compare(e, CompareOperator::NotEqual, value, given)
    }),
    test("!=", |e, value, given| {
        compare(e, CompareOperator::NotEqual, value, given)
    }),
    test("lt", |e, value, given| {
        compare(e, CompareOperator::Less, value, given)
    }),
    test("<", |e, value, given| {
        compare(e, CompareOperator::Less, value, given)
    }),
    test("lessthan", |e, value, given| {
        compare(e, CompareOperator::Less, value, given)
    }),
    test("le", |e, value, given| {
        compare(e, CompareOperator::LessOrEqual, value, given)
    }),
    test("<=", |e, value, given| {
        compare(e, CompareOperator::LessOrEqual, value, given)
    }),
    test("gt", |e, value, given| {
        compare(e, CompareOperator::Greater, value, given)
    }),
    test(">", |e, value, given| {
        compare(e, CompareOperator::Greater, value, given)
    }),
    test("greaterthan", |e, value, given| {
        compare(e, CompareOperator::Greater, value, given)
    }),
    test("ge", |e, value, given| {
        compare(e, CompareOperator::GreaterOrEqual, value, given)
    }),
    test(">=", |e, value, given| {
        compare(e, CompareOperator::GreaterOrEqual, value, given)
    }),
];

/// Returns the test with this name.
pub(super) fn find(name: &str) -> Option<&'static Test> {
    TESTS.iter().find(|test| test.name == name)
}

/// Yields the names of all tests.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TESTS.iter().map(|test| test.name)
}

fn compare(
    e: &mut Evaluator<'_, '_>,
    comparison: CompareOperator,
    value: &Value,
    given: &EvaluatedArguments,
) -> Result<bool, StopReason> {
    e.compare(comparison, value, given.need(0, "other")?)
}

fn remainder(e: &mut Evaluator<'_, '_>, value: &Value, by: i64) -> Result<i64, StopReason> {
    if let Value::Undefined(path) = value {
        return Err(e.undefined(path.as_deref()));
    }
    if let Value::Float(float) = value {
        let rest = float.rem_euclid(by as f64);
        // A number with a remainder other than 0 or 1 is neither even nor odd.
        return Ok(if rest == rest.trunc() {
            rest as i64
        } else {
            -1
        });
    }
    let Some(int) = value.as_int() else {
        return Err(fail(format!("an int is expected, not {}", value.kind())));
    };
    int.checked_rem_euclid(by)
        .ok_or_else(|| fail("division by zero"))
}

/// Python's `islower` and `isupper`: at least one letter has the wanted case, and none has the
/// other one.
pub(super) fn is_cased(text: &str, wanted: fn(char) -> bool, other: fn(char) -> bool) -> bool {
    text.chars().any(wanted) && !text.chars().any(other)
}

fn is_sequence(value: &Value) -> bool {
    match value {
        Value::List(list) => list.has_places(),
        Value::Str(_) | Value::Dict(_) | Value::Undefined(_) => true,
        _ => false,
    }
}

fn is_iterable(value: &Value) -> bool {
    matches!(
        value,
        Value::List(_) | Value::Str(_) | Value::Dict(_) | Value::Undefined(_) | Value::Loop(_)
    )
}

fn is_callable(value: &Value) -> bool {
    matches!(
        value,
        Value::Macro(_)
            | Value::Function(_)
            | Value::Method(_)
            | Value::Super(_)
            | Value::Joiner(_)
            | Value::Loop(_)
    )
}
