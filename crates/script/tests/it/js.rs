//! JavaScript in a thread: expressions, functions, conversion of values, limits.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use quillet_core::{Value, json};
use quillet_script::js::{
    Code, ConsoleLevel, FunctionId, FunctionSource, HostCallResult, Js, JsError, JsErrorKind,
    JsOptions, JsTarget, JsValueRef, LookupResult, Runtime, WorkerLimits,
};

/// A runtime with a table of variables and a few directives.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) variables: Mutex<BTreeMap<String, JsValueRef>>,
    pub(crate) functions: Mutex<BTreeMap<String, JsTarget>>,
    pub(crate) lines: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn of(variables: &str) -> Self {
        let names = Names::default();
        let value: Value = json::parse(variables).unwrap();
        for (name, value) in value.as_map().unwrap() {
            names
                .variables
                .lock()
                .unwrap()
                .insert(name.to_string(), JsValueRef::Value(value.clone()));
        }
        names
    }

    pub(crate) fn shown(&self, name: &str) -> String {
        shown(
            self.variables
                .lock()
                .unwrap()
                .get(name)
                .unwrap_or(&JsValueRef::Undefined),
        )
    }
}

impl Runtime for Names {
    fn get(&self, name: &str) -> LookupResult {
        if let Some(target) = self.functions.lock().unwrap().get(name) {
            return LookupResult::Js(target.clone());
        }
        if ["$get", "$wait", "$fail"].contains(&name) {
            return LookupResult::Host;
        }
        match self.variables.lock().unwrap().get(name) {
            None => LookupResult::Missing,
            Some(JsValueRef::Undefined) => LookupResult::Undefined,
            Some(JsValueRef::Value(value)) => LookupResult::Value(value.clone()),
            Some(JsValueRef::Function(id)) => LookupResult::Js(JsTarget::Function(*id)),
        }
    }

    fn set(&self, name: &str, value: JsValueRef) -> Result<(), JsError> {
        if name == "protected" {
            return Err(JsError::thrown("`protected` cannot be set").marked(7));
        }
        self.variables
            .lock()
            .unwrap()
            .insert(name.to_owned(), value);
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        self.variables.lock().unwrap().keys().cloned().collect()
    }

    fn call<'a>(&'a self, name: &str, arguments: Vec<JsValueRef>) -> HostCallResult<'a> {
        let first = arguments.into_iter().next().unwrap_or_default();
        match name {
            "$get" => HostCallResult::Now(Ok(match &first {
                JsValueRef::Value(Value::Str(name)) => self
                    .variables
                    .lock()
                    .unwrap()
                    .get(&**name)
                    .cloned()
                    .unwrap_or_default(),
                _ => JsValueRef::Undefined,
            })),
            "$wait" => HostCallResult::Later(Box::pin(async move {
                tokio::task::yield_now().await;
                Ok(first)
            })),
            _ => HostCallResult::Later(Box::pin(async {
                Err(JsError::thrown("it failed").marked(3))
            })),
        }
    }

    fn log(&self, level: ConsoleLevel, line: &str) {
        self.lines.lock().unwrap().push(format!("{level:?} {line}"));
    }
}

pub(crate) fn shown(passed: &JsValueRef) -> String {
    match passed {
        JsValueRef::Undefined => "undefined".to_owned(),
        JsValueRef::Value(value) => json::to_string(value),
        JsValueRef::Function(_) => "function".to_owned(),
    }
}

pub(crate) fn define(js: &Js, code: &str) -> FunctionId {
    let definition = FunctionSource {
        code: code.to_owned(),
        ..FunctionSource::default()
    };
    js.define(definition).unwrap().id
}

#[tokio::test]
async fn expressions_see_names_and_this() {
    let js = Js::new(JsOptions::default());
    let cases = [
        ("23+5", "28"),
        ("a.b[1] + this.a.b[0]", "3"),
        ("{...a, c: n}", r#"{"b":[1,2],"c":1.5}"#),
        ("await this.$wait(n) * 2", "3"),
        ("$get('n')", "1.5"),
        ("this.missing", "undefined"),
        ("typeof missing", "\"undefined\""),
        ("wait ? 1 : 2", "1"),
        ("Object.keys(this).join()", "\"a,n,text,wait\""),
        (
            "[0/0, 1/0, -0, 2**60, 1e300]",
            "[null,null,-0.0,1152921504606846976,1e+300]",
        ),
        ("new Map([['a', new Set([1])]])", r#"{"a":[1]}"#),
        ("new Date(0)", r#""1970-01-01T00:00:00.000Z""#),
        (
            "[12345678901234567890n, 5n, /a/g, undefined, () => 1]",
            r#"["12345678901234567890",5,"/a/g",null,null]"#,
        ),
        ("() => 1", "function"),
        ("'\\ud800x'", "\"\u{fffd}x\""),
        ("new Uint8Array([1, 2])", "[1,2]"),
        ("text.length;", "4"),
    ];
    let names = Names::of(r#"{"a":{"b":[1,2]},"n":1.5,"text":"日本\ud83d\ude00","wait":true}"#);
    for (code, expected) in cases {
        let value = js
            .evaluate(code, &names)
            .await
            .unwrap_or_else(|error| panic!("{code}: {error:?}"));
        assert_eq!(shown(&value), expected, "{code}");
    }
}

#[tokio::test]
async fn functions_take_arguments_and_give_them_back() {
    let js = Js::new(JsOptions::default());
    let names = Names::of("{}");
    let cases = [
        (
            "function f({a, b}) { return a + b }",
            r#"[{"a":1,"b":2}]"#,
            "3",
            r#"[{"a":1,"b":2}]"#,
        ),
        ("twice(x) { return x * 2 }", "[21]", "42", "[21]"),
        (
            "async up({content}) { return (await this.$wait(content)).toUpperCase() }",
            r#"[{"content":"abc"}]"#,
            "\"ABC\"",
            r#"[{"content":"abc"}]"#,
        ),
        (
            "(event, x) => event.type + x",
            r#"[{"type":"t"}, 1]"#,
            "\"t1\"",
            r#"[{"type":"t"},1]"#,
        ),
        (
            "(event) { event.stopped = true; return 1 }",
            "[{}]",
            "1",
            r#"[{"stopped":true}]"#,
        ),
        (
            "// comment\n fact(n) { return n < 2 ? 1 : n * fact(n - 1) } // end",
            "[5]",
            "120",
            "[5]",
        ),
    ];
    for (code, arguments, expected, after) in cases {
        let id = define(&js, code);
        let given: Value = json::parse(arguments).unwrap();
        let Value::List(given) = given else { panic!() };
        let given = given.iter().cloned().map(JsValueRef::Value).collect();
        let result = js
            .call(&id.into(), given, &names)
            .await
            .unwrap_or_else(|error| panic!("{code}: {error:?}"));
        assert_eq!(shown(&result.value), expected, "{code}");
        let list: Vec<String> = result.arguments.iter().map(shown).collect();
        assert_eq!(format!("[{}]", list.join(",")), after, "{code}");
    }
}

#[tokio::test]
async fn this_reads_and_writes_and_calls() {
    let js = Js::new(JsOptions::default());
    let names = Names::of(r#"{"prompt":{"messages":[1]}}"#);
    let add = define(
        &js,
        "add(x) { this.acc = (this.acc || '') + x + ';'; return this.acc }",
    );
    names
        .functions
        .lock()
        .unwrap()
        .insert("$add".to_owned(), add.into());
    for code in [
        "this.$add('a')",
        "this.add('b')",
        "$add('c')",
        "this.prompt.messages.push(2)",
        "prompt.messages[0] = 9",
    ] {
        js.evaluate(code, &names)
            .await
            .unwrap_or_else(|error| panic!("{code}: {error:?}"));
    }
    assert_eq!(names.shown("acc"), "\"a;b;c;\"");
    assert_eq!(names.shown("prompt"), r#"{"messages":[9,2]}"#);
}

#[tokio::test]
async fn failures_say_what_and_where() {
    let js = Js::new(JsOptions {
        bounds: WorkerLimits {
            time: Duration::from_millis(200),
            ..WorkerLimits::default()
        },
        ..JsOptions::default()
    });
    let names = Names::of("{}");
    let cases = [
        ("1 +", JsErrorKind::Syntax, Some((2, 1))),
        (
            "\n nothere + 1",
            JsErrorKind::Unknown {
                name: "nothere".to_owned(),
            },
            Some((2, 2)),
        ),
        (
            "(() => { throw new TypeError('no') })()",
            JsErrorKind::Thrown,
            Some((1, 20)),
        ),
        ("(() => { throw {a: 1} })()", JsErrorKind::Thrown, None),
        ("(() => { for (;;) {} })()", JsErrorKind::Time, None),
        (
            "(function f() { return Promise.resolve().then(f) })()",
            JsErrorKind::Time,
            None,
        ),
        (
            "(function f() { f() })()",
            JsErrorKind::Stack,
            Some((1, 17)),
        ),
        (
            "(() => { let a = []; for (;;) a.push(new Array(1e5).fill(0)) })()",
            JsErrorKind::Memory,
            None,
        ),
        ("await new Promise(() => {})", JsErrorKind::Stuck, None),
        (
            "(() => { let a = {}; a.a = a; return a })()",
            JsErrorKind::Data,
            None,
        ),
        ("this.protected = 1", JsErrorKind::Thrown, None),
        ("await this.$fail()", JsErrorKind::Thrown, None),
    ];
    for (code, kind, place) in cases {
        let error = js.evaluate(code, &names).await.expect_err(code);
        assert_eq!(error.kind, kind, "{code}: {error:?}");
        let found = error
            .place()
            .map(|frame| (frame.place.line, frame.place.column));
        if place.is_some() {
            assert_eq!(found, place, "{code}: {error:?}");
        }
        assert_eq!(
            shown(&js.evaluate("1 + 1", &names).await.unwrap()),
            "2",
            "after {code}"
        );
    }
}

#[tokio::test]
async fn failures_of_functions_are_placed_in_their_own_text() {
    let js = Js::new(JsOptions::default());
    let cases = [
        ("f(a) { return a.b.c }", (1, 15)),
        ("function f(a) { return a.b.c }", (1, 24)),
        ("async f(a) {\n  return a.b.c\n}", (2, 10)),
        ("// one\n/* two */ (a) { return a.b.c }", (2, 24)),
        ("a => a.b.c", (1, 6)),
        ("f(a) { return a b }", (1, 17)),
        ("f(a) {\n  a b\n}", (2, 5)),
    ];
    for (code, place) in cases {
        let id = define(&js, code);
        let error = js
            .call(
                &id.into(),
                vec![JsValueRef::Value(1.into())],
                &Names::default(),
            )
            .await
            .unwrap_err();
        let frame = error.place().unwrap_or_else(|| panic!("{code}: {error:?}"));
        assert_eq!(frame.code, Code::Function(id), "{code}");
        assert_eq!(
            (frame.place.line, frame.place.column),
            place,
            "{code}: {error:?}"
        );
    }
}

#[tokio::test]
async fn too_little_memory_is_said_even_where_no_exception_fits() {
    for memory in [1 << 10, 200 << 10, 320 << 10, 500 << 10] {
        let js = Js::new(JsOptions {
            bounds: WorkerLimits {
                memory,
                ..WorkerLimits::default()
            },
            ..JsOptions::default()
        });
        let code = "(() => { let a = []; for (;;) a.push({x: [a.length], f: () => a}) })()";
        let error = js.evaluate(code, &Names::default()).await.unwrap_err();
        assert_eq!(error.kind, JsErrorKind::Memory, "{memory}: {error}");
        assert!(
            error.message.contains("js_memory") || error.message.contains("out of memory"),
            "{error}"
        );
    }
}
