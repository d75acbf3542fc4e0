//! Python functions. Without `python3`, the tests that need it are skipped with a message.

use std::time::Duration;

use quillet_core::{Value, json};
use quillet_script::js::{JsErrorKind, Python};

const TIME: Duration = Duration::from_secs(20);

fn has_python() -> bool {
    let found = std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        println!("left out: there is no python3");
    }
    found
}

fn given(text: &str) -> Vec<Option<Value>> {
    let value: Value = json::parse(text).unwrap();
    let Value::List(list) = value else {
        panic!("not a list")
    };
    list.iter().cloned().map(Some).collect()
}

#[tokio::test]
async fn functions_take_and_give_data() {
    if !has_python() {
        return;
    }
    let python = Python::new(true, TIME);
    let cases = [
        (
            "def func1(arg1, arg2):\n  return arg1 + arg2",
            "[1, 2]",
            "3",
            "",
        ),
        (
            "def up(text):\n    print('hi', text)\n    return text.upper()",
            "[\"é\"]",
            "\"É\"",
            "hi é\n",
        ),
        ("def nothing(a, b=5):\n    pass", "[1]", "null", ""),
        (
            "def data(x):\n    return {'list': x, 'set': {1}, 'pair': (1, 2)}",
            "[[1, null, {\"a\": true}]]",
            r#"{"list":[1,null,{"a":true}],"set":[1],"pair":[1,2]}"#,
            "",
        ),
        (
            "async def slow(x):\n    import asyncio\n    await asyncio.sleep(0)\n    return x",
            "[2.5]",
            "2.5",
            "",
        ),
        ("def both(x):\n    return func1(x, 1)", "[4]", "5", ""),
        (
            "def noise(x):\n    import sys, os\n    os.write(1, b'noise')\n    return sys.stdin.read()",
            "[1]",
            "\"\"",
            "",
        ),
    ];
    for (code, arguments, expected, printed) in cases {
        let function = python.define(code, "main.ai.yaml").unwrap();
        let result = python
            .call(function.id, &given(arguments))
            .await
            .unwrap_or_else(|error| panic!("{code}: {error:?}"));
        assert_eq!(json::to_string(&result.value), expected, "{code}");
        assert_eq!(result.printed, printed, "{code}");
    }
}

#[tokio::test]
async fn failures_say_what_and_where() {
    if !has_python() {
        return;
    }
    let python = Python::new(true, TIME);
    let cases = [
        (
            "def f(x):\n    return 1 / x",
            "[0]",
            JsErrorKind::Thrown,
            "ZeroDivisionError: division by zero",
            Some(2),
        ),
        (
            "def f(x):\n    return (",
            "[0]",
            JsErrorKind::Syntax,
            "SyntaxError: '(' was never closed",
            Some(2),
        ),
        (
            "def f():\n    return 1",
            "[0]",
            JsErrorKind::Thrown,
            "TypeError: f() takes 0 positional arguments but 1 was given",
            None,
        ),
        (
            "def f(x):\n    return f",
            "[0]",
            JsErrorKind::Thrown,
            "TypeError: a function cannot leave Python",
            None,
        ),
        (
            "def f(x):\n    return float('nan')",
            "[0]",
            JsErrorKind::Thrown,
            "ValueError: Out of range float values are not JSON compliant",
            None,
        ),
        (
            "def f(x):\n    raise SystemExit(3)",
            "[0]",
            JsErrorKind::Thrown,
            "SystemExit: 3",
            Some(2),
        ),
        (
            "def f(x):\n    import os; os._exit(3)",
            "[0]",
            JsErrorKind::Killed,
            "python3 exited before it answered",
            None,
        ),
        (
            "def f(x):\n    return f(x)",
            "[0]",
            JsErrorKind::Thrown,
            "RecursionError",
            Some(2),
        ),
    ];
    for (code, arguments, kind, words, line) in cases {
        let function = python.define(code, "main.ai.yaml").unwrap();
        let error = python
            .call(function.id, &given(arguments))
            .await
            .unwrap_err();
        assert_eq!(error.kind, kind, "{code}: {error}");
        assert!(error.message.starts_with(words), "{code}: {error}");
        assert_eq!(error.place().map(|frame| frame.place.line), line, "{code}");
    }
}

#[tokio::test]
async fn a_call_that_does_not_end_is_killed_and_the_next_one_works() {
    if !has_python() {
        return;
    }
    let python = Python::new(true, Duration::from_secs(2));
    let spin = python
        .define("def spin():\n    while True: pass", "a")
        .unwrap();
    let add = python.define("def add(a, b): return a + b", "a").unwrap();
    let error = python.call(spin.id, &[]).await.unwrap_err();
    assert_eq!(error.kind, JsErrorKind::Time);
    assert!(error.message.contains("js_time"), "{error}");
    assert_eq!(
        python.call(add.id, &given("[1, 2]")).await.unwrap().value,
        Value::Int(3)
    );
}

#[test]
fn nothing_starts_without_the_grant() {
    let python = Python::new(false, TIME);
    let error = python.define("def f(): pass", "a").unwrap_err();
    assert_eq!(error.kind, JsErrorKind::Denied);
    assert_eq!(
        error.message,
        "functions in Python need a permission: run (starting python3)"
    );
    let error = Python::new(true, TIME).define("f = 1", "a").unwrap_err();
    assert_eq!(error.kind, JsErrorKind::Syntax);
}
