//! Expressions without an engine.

use quillet_core::{Map, Value, json};
use quillet_script::expression::{EvalError, Expression, MAX_NESTING, ParsedExpression};

fn names() -> Map {
    let text = r#"{"a":1,"b":"two","list":[3,4,"x"],"o":{"k":{"n":null}},"f":0.5,"空":true}"#;
    match json::parse(text).unwrap() {
        Value::Map(map) => map,
        other => panic!("{other:?}"),
    }
}

fn evaluate(text: &str) -> Result<Option<Value>, EvalError> {
    match Expression::parse(text) {
        ParsedExpression::Native(expression) => expression.evaluate(&names()),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn expressions_have_the_values_that_javascript_gives() {
    for (text, value) in [
        ("a-1", "0"),
        ("a - (2 - 3)", "2"),
        ("1 + 2 * 3 - 4 / 8", "6.5"),
        ("a + b", "\"1two\""),
        ("`${a}+${b} ${`<${a}>`}`", "\"1+two <1>\""),
        ("list[1] + list.length", "7"),
        ("list", "[3,4,\"x\"]"),
        ("[...list, a]", "[3,4,\"x\",1]"),
        (
            "{a, 'k k': b, ...o, [b]: 1, z: undefined}",
            r#"{"a":1,"k k":"two","k":{"n":null},"two":1}"#,
        ),
        ("o?.k?.n?.x.y === undefined", "true"),
        ("o.k['n'] ?? a", "1"),
        ("this.a === a && !this.nothing", "true"),
        ("a == '1' ? 'y' : 'n'", "\"y\""),
        ("typeof nobody", "\"undefined\""),
        ("'k' in o && !('z' in o)", "true"),
        ("空 && f >= .5", "true"),
        ("0.1 + 0.2 + ''", "\"0.30000000000000004\""),
        ("'\\u{1F600}\\x41'", "\"😀A\""),
        ("1e21 + ''", "\"1e+21\""),
        ("-7 % 3 + (5 & 3 | 8)", "8"),
        ("list.includes(4) && list.indexOf('4') < 0", "true"),
        ("list.slice(-2).join('/')", "\"4/x\""),
        ("' x '.trim().at(-1)", "\"x\""),
    ] {
        let expected = json::parse(value).unwrap();
        assert_eq!(evaluate(text), Ok(Some(expected)), "{text}");
    }
}

#[test]
fn what_only_an_engine_can_do_is_left_to_it() {
    for text in [
        "x => x",
        "f(1)",
        "list.map(x => x)",
        "new Date()",
        "/re/",
        "a = 1",
        "a++",
        "a, b",
        "1n",
        "a ** 2",
        "(a, b) => a",
        "(a = 1) => a",
        "async () => 1",
        "function f() {}",
        "{ get a() { return 1 } }",
        "a ?? b || a",
        "a instanceof b",
        "await a",
        "{a = 1}",
        "a\nb",
        "'\\ud800'",
        "[,]",
        "`a` `b`",
    ] {
        assert!(
            matches!(Expression::parse(text), ParsedExpression::JavaScript),
            "{text}"
        );
    }
    for text in [
        "Math",
        "list == list",
        "b.trim + ''",
        "o.toString",
        "[undefined]",
        "Math.PI",
    ] {
        assert_eq!(evaluate(text), Err(EvalError::JavaScript), "{text}");
    }
}

#[test]
fn what_is_no_javascript_either_says_where_and_why() {
    for (text, message, start) in [
        ("i >=", "a value is missing at the end", 4),
        ("(1 + 2", "`)` is missing", 0),
        ("1 + 2)", "unexpected `)`: nothing is open here", 5),
        ("[1, 2}", "`]` is missing before `}`", 5),
        ("hello world", "unexpected `world`", 6),
        ("'abc", "unclosed string: the closing ' is missing", 0),
        ("1 + * 2", "a value is missing before `*`", 4),
        ("12px", "`12px` is not a number", 0),
        ("a @ b", "unexpected `@`", 2),
        ("`a${1", "`}` is missing", 0),
    ] {
        match Expression::parse(text) {
            ParsedExpression::Invalid(error) => {
                assert_eq!(
                    (&*error.message, error.span.start),
                    (message, start),
                    "{text}"
                );
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn unknown_names_and_throws_say_what_they_are() {
    assert!(
        matches!(evaluate("a + nobody"), Err(EvalError::Unknown { name, span })
        if &*name == "nobody" && span.start == 4)
    );
    assert!(
        matches!(evaluate("o.z.y"), Err(EvalError::Throws { message, .. })
        if message == "cannot read `y` of undefined")
    );
    assert_eq!(evaluate("true || nobody"), Ok(Some(Value::Bool(true))));
}

#[test]
fn names_are_listed_for_checks() {
    let ParsedExpression::Native(expression) =
        Expression::parse("a + this.b.c[`${d}`] + {e, f: g}.h")
    else {
        panic!()
    };
    let names: Vec<(String, bool)> = expression
        .names()
        .into_iter()
        .map(|used| (used.name.to_string(), used.this))
        .collect();
    let expected = [
        ("a", false),
        ("b", true),
        ("d", false),
        ("e", false),
        ("g", false),
    ];
    assert_eq!(names, expected.map(|(name, this)| (name.to_owned(), this)));
}

#[test]
fn depth_is_bounded_and_length_is_not() {
    let deep = "(".repeat(100_000) + "1";
    assert!(
        matches!(Expression::parse(&deep), ParsedExpression::Invalid(error)
        if error.message.contains(&MAX_NESTING.to_string()))
    );
    for text in [
        "!".repeat(100_000) + "1",
        "a?".repeat(100_000) + "1",
        "[".repeat(100_000),
    ] {
        assert!(matches!(
            Expression::parse(&text),
            ParsedExpression::Invalid(_)
        ));
    }
    let long = "1+".repeat(100_000) + "1";
    assert_eq!(evaluate(&long), Ok(Some(Value::Int(100_001))));
}
