//! JavaScript in a separate process, and hostile JavaScript in a process and in a thread.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_core::{Value, json};
use quillet_script::js::{
    Js, JsErrorKind, JsOptions, JsPool, JsValueRef, Transport, WorkerLimits, WorkerProgram,
    serve_process,
};

use crate::js::{Names, define, shown};

/// Returns the command that starts this test program as a worker, running only the test `worker`
/// below.
pub(crate) fn program() -> WorkerProgram {
    WorkerProgram {
        path: std::env::current_exe().unwrap(),
        arguments: [
            "--exact",
            "js_process::worker",
            "--nocapture",
            "--test-threads=1",
        ]
        .map(str::to_owned)
        .to_vec(),
    }
}

pub(crate) fn in_process(bounds: WorkerLimits) -> Js {
    Js::new(JsOptions {
        bounds,
        transport: Transport::Process(program()),
        ..JsOptions::default()
    })
}

/// The worker process of these tests. Without the environment of `program`, it does nothing.
#[test]
fn worker() {
    if std::env::args().any(|argument| argument == "js_process::worker") {
        serve_process(std::io::stdin(), std::io::stdout(), || {
            std::process::exit(0)
        })
        .unwrap();
        std::process::exit(0);
    }
}

#[tokio::test]
async fn a_process_answers_as_a_thread_does() {
    let names = Names::of(r#"{"a":{"b":[1,2]},"n":1.5}"#);
    let (process, thread) = (
        in_process(WorkerLimits::default()),
        Js::new(JsOptions::default()),
    );
    let codes = [
        "a.b.concat(n, 0/0, [1/0])",
        "[0/0, '\\u0001x', 'é日']",
        "await this.$wait({x: [n]})",
        "this.a.b.push(3), this.a.b.length",
        "$get('n') + 1",
        "Object.keys(this).join()",
        "require",
        "(() => { throw {a: 1} })()",
        "1 +",
        "this.protected = 1",
        "require('util')",
        "new Date(5)",
        "'x'.repeat(300000).length",
        "'x'.repeat(300000)",
    ];
    for code in codes {
        let names_too = Names::of(r#"{"a":{"b":[1,2]},"n":1.5}"#);
        let one = process.evaluate(code, &names).await;
        let other = thread.evaluate(code, &names_too).await;
        match (one, other) {
            (Ok(JsValueRef::Value(one)), Ok(JsValueRef::Value(other))) => {
                assert_eq!(format!("{one:?}"), format!("{other:?}"), "{code}");
            }
            (one, other) => assert_eq!(one, other, "{code}"),
        }
    }
    let id = define(
        &process,
        "f(e, {x}) { e.stopped = x; return [x, typeof this.$get] }",
    );
    let arguments = ["{}", "{\"x\":2}"]
        .map(|text| JsValueRef::Value(json::parse(text).unwrap()))
        .to_vec();
    let result = process.call(&id.into(), arguments, &names).await.unwrap();
    assert_eq!(shown(&result.value), r#"[2,"function"]"#);
    assert_eq!(shown(&result.arguments[0]), r#"{"stopped":2}"#);
}

#[tokio::test]
async fn a_program_that_is_no_worker_is_an_error() {
    for path in ["/nothere/at/all", "/bin/echo"] {
        let transport = Transport::Process(WorkerProgram {
            path: path.into(),
            arguments: Vec::new(),
        });
        let js = Js::new(JsOptions {
            transport,
            ..JsOptions::default()
        });
        let error = js.evaluate("1", &Names::default()).await.unwrap_err();
        assert_eq!(error.kind, JsErrorKind::Killed, "{path}: {error}");
    }
}

#[tokio::test]
async fn a_pool_serves_each_run_with_a_process_of_its_own() {
    let pool = Arc::new(JsPool::new(program(), 1));
    pool.fill().unwrap();
    for round in 0..3 {
        let js = Js::new(JsOptions {
            transport: Transport::Pool(Arc::clone(&pool)),
            ..JsOptions::default()
        });
        let seen = js
            .evaluate(
                "[typeof globalThis.left, globalThis.left = 1][0]",
                &Names::default(),
            )
            .await
            .unwrap();
        assert_eq!(shown(&seen), "\"undefined\"", "round {round}");
        let again = js
            .evaluate("globalThis.left", &Names::default())
            .await
            .unwrap();
        assert_eq!(shown(&again), "1", "round {round}");
    }
}

#[tokio::test]
async fn one_run_sees_nothing_of_another() {
    for transport in [Transport::Thread, Transport::Process(program())] {
        let run = || {
            Js::new(JsOptions {
                transport: transport.clone(),
                ..JsOptions::default()
            })
        };
        let (one, other) = (run(), run());
        one.evaluate(
            "Object.prototype.polluted = Array.prototype.map = 1, globalThis.x = 1",
            &Names::default(),
        )
        .await
        .unwrap();
        let seen = other
            .evaluate(
                "[({}).polluted, typeof x, [1].map((x) => x + 1)[0]]",
                &Names::default(),
            )
            .await
            .unwrap();
        assert_eq!(shown(&seen), "[null,\"undefined\",2]", "{transport:?}");
    }
}

/// Runs a vector's code as an expression, or else as a function body with or without its last
/// value.
async fn hostile(js: &Js, code: &str) -> Result<JsValueRef, (JsErrorKind, String)> {
    let names = Names::default();
    let mut result = js.evaluate(code, &names).await;
    let (before, value) = code.split_at(code.rfind(';').map_or(0, |at| at + 1));
    for body in [format!("{before} return {value}"), code.to_owned()] {
        if result
            .as_ref()
            .is_err_and(|error| error.kind == JsErrorKind::Syntax)
        {
            let id = define(js, &format!("f() {{ {body} }}"));
            result = js
                .call(&id.into(), Vec::new(), &names)
                .await
                .map(|result| result.value);
        }
    }
    result.map_err(|error| (error.kind, error.message))
}

/// Checks a result against the vector. Returns a message for a wrong or late result.
fn verdict(vector: &Value, result: &Result<JsValueRef, (JsErrorKind, String)>) -> Option<String> {
    let text = |key: &str| {
        vector
            .get_path(&[key])
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let id = text("id");
    let wrong = match &*text("expect") {
        "refuse" => result.is_ok() || matches!(result, Err((JsErrorKind::Syntax, _))),
        "ok" => {
            !matches!(result, Ok(JsValueRef::Value(value)) if Some(value) == vector.get_path(&["result"]))
        }
        "isolated" => match result {
            Ok(value) => !["\"undefined\"", "undefined", "1"].contains(&&*shown(value)),
            Err((kind, _)) => !matches!(kind, JsErrorKind::Unknown { .. } | JsErrorKind::Denied),
        },
        _ => matches!(result, Err((JsErrorKind::Syntax, _))),
    };
    wrong.then(|| format!("{id}: {result:?}"))
}

fn vectors() -> Option<Vec<Value>> {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/hostile/js.jsonl");
    let text = std::fs::read_to_string(file).ok()?;
    Some(
        text.lines()
            .map(|line| json::parse(line).unwrap())
            .collect(),
    )
}

#[tokio::test]
async fn hostile_code_ends_within_its_bounds() {
    let Some(vectors) = vectors() else {
        println!("left out: the hostile vectors are not here");
        return;
    };
    let bounds = WorkerLimits {
        time: Duration::from_millis(300),
        memory: 48 << 20,
        ..WorkerLimits::default()
    };
    for transport in [Transport::Process(program()), Transport::Thread] {
        let js = Js::new(JsOptions {
            bounds: bounds.clone(),
            transport: transport.clone(),
            ..JsOptions::default()
        });
        let mut wrong = Vec::new();
        for vector in &vectors {
            let code = vector.get_path(&["code"]).and_then(Value::as_str).unwrap();
            let begun = Instant::now();
            let result = hostile(&js, code).await;
            println!(
                "{:?} {} {:?}",
                begun.elapsed(),
                code,
                result.as_ref().map(shown)
            );
            wrong.extend(verdict(vector, &result));
            let control = js.evaluate("6 * 7", &Names::default()).await;
            if control.as_ref().map(shown) != Ok("42".to_owned()) {
                wrong.push(format!("after {code}: {control:?}"));
            }
        }
        assert!(
            wrong.is_empty(),
            "{transport:?}: {} of {}:\n{}",
            wrong.len(),
            vectors.len(),
            wrong.join("\n")
        );
        println!("{} run, all right", vectors.len());
    }
}
