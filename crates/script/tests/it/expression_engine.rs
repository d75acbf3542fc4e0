//! The native evaluator and a JavaScript engine give the same values for random expressions.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{Config, TestRunner};
use quillet_core::{Map, Value, json};
use quillet_script::expression::{EvalError, Expression, ParsedExpression};
use rquickjs::Runtime;

use crate::quickjs::Engine;

const SCOPE: &str = r#"{
    "i": 7, "neg": -3, "zero": 0, "f": 0.1, "big": 9007199254740991, "huge": 1e300,
    "s": "abc", "digits": "42", "empty": "", "wide": "a😀中b", "blank": " \n",
    "yes": true, "no": false, "nil": null,
    "list": [1, "b", null, [2, 3], {"k": 5}], "none": [], "one": ["7"],
    "obj": {"2": "two", "10": "ten", "a": 1, "b": {"c": "x", "list": [1, 2]}, "length": 3}
}"#;

fn leaf() -> impl Strategy<Value = String> {
    select(vec![
        "0",
        "1",
        "2",
        "-1",
        "10",
        "2.5",
        ".5",
        "5.",
        "1e21",
        "1e-7",
        "0x1F",
        "0b101",
        "0o17",
        "4294967296",
        "9007199254740993",
        "123456789012345680000",
        "NaN",
        "Infinity",
        "undefined",
        "null",
        "true",
        "false",
        "''",
        "'a'",
        "\"b\"",
        "'10'",
        "' 12 '",
        "'0x10'",
        "'😀b'",
        "'it\\'s\\n\\u4e2d\\x41'",
        "'1e3'",
        "'-0'",
        "'a,b'",
        "`t`",
        "`${i}+${s}`",
        "[]",
        "{}",
        "i",
        "neg",
        "zero",
        "f",
        "big",
        "huge",
        "s",
        "digits",
        "empty",
        "wide",
        "blank",
        "yes",
        "no",
        "nil",
        "list",
        "none",
        "one",
        "obj",
        "this.i",
        "this.nothing",
        "nobody",
        "obj.b.list",
        "obj.b?.c",
        "nil?.a.b",
        "obj.zzz",
        "list[3][1]",
        "list.length",
        "wide.length",
        "s[1]",
        "obj['2']",
        "this['s']",
    ])
    .prop_map(str::to_owned)
}

fn binary() -> impl Strategy<Value = &'static str> {
    select(vec![
        "+", "-", "*", "/", "%", "==", "!=", "===", "!==", "<", "<=", ">", ">=", "&&", "||", "??",
        "&", "|", "^", "<<", ">>", ">>>", " in ",
    ])
}

fn unary() -> impl Strategy<Value = &'static str> {
    select(vec!["!", "-", "+", "~", "typeof", "- -", "!!"])
}

fn call() -> impl Strategy<Value = (&'static str, usize)> {
    select(vec![
        (".trim", 0),
        (".trimStart", 0),
        (".trimEnd", 0),
        (".toUpperCase", 0),
        (".toLowerCase", 0),
        (".split", 1),
        (".toString", 0),
        (".at", 1),
        (".includes", 1),
        (".startsWith", 1),
        (".endsWith", 1),
        (".indexOf", 1),
        (".join", 1),
        (".slice", 1),
        (".slice", 2),
        (".join", 0),
        (".at", 0),
    ])
}

fn wider(inner: &BoxedStrategy<String>) -> BoxedStrategy<String> {
    let one = || inner.clone();
    prop_oneof![
        6 => (one(), binary(), one()).prop_map(|(a, op, b)| format!("{a}{op}{b}")),
        3 => (one(), binary(), one()).prop_map(|(a, op, b)| format!("({a}{op}{b})")),
        2 => (unary(), one()).prop_map(|(op, a)| format!("{op} {a}")),
        2 => (one(), one(), one()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
        1 => (one(), one()).prop_map(|(a, b)| format!("({a})[{b}]")),
        1 => one().prop_map(|a| format!("({a}).length")),
        1 => one().prop_map(|a| format!("({a})?.a")),
        2 => (one(), one()).prop_map(|(a, b)| format!("[{a}, {b}]")),
        1 => (one(), one()).prop_map(|(a, b)| format!("[...{a}, {b}]")),
        1 => (one(), one()).prop_map(|(a, b)| format!("({{k: {a}, 'q r': {b}, 3: i, s}})")),
        1 => (one(), one()).prop_map(|(a, b)| format!("({{a: 0, ...{a}, [{b}]: 1}})")),
        1 => (one(), one()).prop_map(|(a, b)| format!("`<${{{a}}}|${{{b}}}>`")),
        2 => (one(), call(), one(), one()).prop_map(|(a, (name, count), b, c)| {
            let arguments = [b, c][..count].join(", ");
            format!("({a}){name}({arguments})")
        }),
    ]
    .boxed()
}

fn expression() -> impl Strategy<Value = String> {
    leaf()
        .boxed()
        .prop_recursive(4, 24, 3, |inner| wider(&inner))
}

fn scope() -> Map {
    match json::parse(SCOPE) {
        Ok(Value::Map(map)) => map,
        other => panic!("{other:?}"),
    }
}

#[test]
fn native_values_are_those_of_the_engine() {
    let runtime = Runtime::new().unwrap();
    let scope = scope();
    let engine = Engine::new(&runtime, &scope);
    let native = Cell::new(0_u32);
    let cases = 3_000;
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&expression(), |text| {
        engine.set(&scope);
        let expected = engine.evaluate(&text);
        let expression = match Expression::parse(&text) {
            ParsedExpression::Native(expression) => expression,
            ParsedExpression::JavaScript => return Ok(()),
            ParsedExpression::Invalid(error) => {
                prop_assert!(expected.is_err(), "{text} is said to be invalid: {error}");
                return Ok(());
            }
        };
        match expression.evaluate(&scope) {
            Err(EvalError::JavaScript) => return Ok(()),
            // Compared as text, because NaN is not equal to itself and the order of keys matters.
            Ok(value) => prop_assert_eq!(
                format!("{:?}", Ok::<_, String>(value)),
                format!("{:?}", expected),
                "{}",
                text
            ),
            Err(error) => prop_assert!(expected.is_err(), "{text}: {error}, not {expected:?}"),
        }
        native.set(native.get() + 1);
        Ok(())
    });
    outcome.unwrap();
    assert!(
        native.get() > cases / 2,
        "only {} of {cases} stayed native",
        native.get()
    );
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,60}") {
        if let ParsedExpression::Native(expression) = Expression::parse(&text) {
            let _ = expression.evaluate(&Map::default());
        }
    }

    #[test]
    fn no_row_of_marks_makes_the_reader_panic(text in "[-+!~a1.'\"`${}()\\[\\]?:,<>=&|\\\\/ \n中]{0,40}") {
        if let ParsedExpression::Native(expression) = Expression::parse(&text) {
            let _ = expression.names();
            let _ = expression.evaluate(&Map::default());
        }
    }

    #[test]
    fn numbers_print_as_the_engine_prints_them(bits in any::<u64>(), whole in any::<i64>(), exponent in -12_i32..25) {
        let runtime = Runtime::new().unwrap();
        let engine = Engine::new(&runtime, &Map::default());
        let scaled = (whole % 100_000) as f64 * 10_f64.powi(exponent);
        for number in [f64::from_bits(bits), whole as f64, scaled] {
            let scope: Map = [("n", Value::Float(number))].into_iter().collect();
            let ParsedExpression::Native(printed) = Expression::parse("n + ''") else { panic!() };
            // Seventeen digits identify a double exactly.
            let literal = if number.is_finite() { format!("String({number:.17e})") } else { format!("String({})", quillet_script::expression::format_number(number)) };
            prop_assert_eq!(Ok(printed.evaluate(&scope).unwrap()), engine.evaluate(&literal));
        }
    }
}
