//! JavaScript jobs that wait for the run, for each other and for timers.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use quillet_core::{BoxFuture, Value};
use quillet_script::js::{
    ConsoleLevel, HostCallResult, Js, JsError, JsErrorKind, JsOptions, JsValueRef, LookupResult,
    Runtime, Transport, WorkerLimits,
};

use crate::js::{Names, define, shown};
use crate::js_process::program;

/// A runtime whose `$run` evaluates its argument in the same JavaScript, and whose `$meet` waits
/// until two jobs have called it.
struct Nest {
    js: Js,
    variables: Mutex<Vec<(String, JsValueRef)>>,
    met: AtomicUsize,
    lines: Mutex<Vec<String>>,
}

impl Nest {
    fn new(transport: Transport) -> Self {
        let bounds = WorkerLimits {
            time: Duration::from_secs(2),
            ..WorkerLimits::default()
        };
        Nest {
            js: Js::new(JsOptions {
                bounds,
                transport,
                ..JsOptions::default()
            }),
            variables: Mutex::default(),
            met: AtomicUsize::new(0),
            lines: Mutex::default(),
        }
    }

    async fn shown(&self, code: &str) -> String {
        match self.js.evaluate(code, self).await {
            Ok(value) => shown(&value),
            Err(error) => format!("{:?} {} {:?}", error.kind, error.message, error.mark),
        }
    }
}

impl Runtime for Nest {
    fn get(&self, name: &str) -> LookupResult {
        if name.starts_with('$') {
            return LookupResult::Host;
        }
        let variables = self.variables.lock().unwrap();
        let found = variables.iter().rfind(|(known, _)| known == name);
        match found.map(|(_, value)| value.clone()) {
            None => LookupResult::Missing,
            Some(JsValueRef::Undefined) => LookupResult::Undefined,
            Some(JsValueRef::Value(value)) => LookupResult::Value(value),
            Some(JsValueRef::Function(id)) => LookupResult::Js(id.into()),
        }
    }

    fn set(&self, name: &str, value: JsValueRef) -> Result<(), JsError> {
        self.variables
            .lock()
            .unwrap()
            .push((name.to_owned(), value));
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(&'a self, name: &str, arguments: Vec<JsValueRef>) -> HostCallResult<'a> {
        let first = arguments.into_iter().next().unwrap_or_default();
        let future: BoxFuture<'a, Result<JsValueRef, JsError>> = match (name, first) {
            ("$run", JsValueRef::Value(Value::Str(code))) => {
                Box::pin(async move { self.js.evaluate(&code, self).await })
            }
            ("$run", JsValueRef::Function(id)) => Box::pin(async move {
                let result = self.js.call(&id.into(), Vec::new(), self).await?;
                Ok(result.value)
            }),
            ("$meet", _) => Box::pin(async {
                self.met.fetch_add(1, Ordering::Relaxed);
                while self.met.load(Ordering::Relaxed) < 2 {
                    tokio::task::yield_now().await;
                }
                Ok(JsValueRef::Undefined)
            }),
            ("$fail", _) => Box::pin(async { Err(JsError::thrown("it failed").marked(5)) }),
            _ => Box::pin(async { Ok(JsValueRef::Undefined) }),
        };
        HostCallResult::Later(future)
    }

    fn log(&self, level: ConsoleLevel, line: &str) {
        self.lines
            .lock()
            .unwrap()
            .push(format!("{level:?}: {line}"));
    }
}

fn transports() -> [Transport; 2] {
    [Transport::Thread, Transport::Process(program())]
}

#[tokio::test]
async fn a_piece_that_waits_lets_others_run() {
    for transport in transports() {
        let nest = Nest::new(transport);
        let cases = [
            ("await this.$run('1 + await this.$run(\"2 + 3\")')", "6"),
            ("await this.$run(() => this.$run('40 + 2'))", "42"),
            (
                "(await Promise.all([1, 2, 3].map((n) => this.$run(`${n} * 2`)))).join()",
                "\"2,4,6\"",
            ),
            (
                "await this.$run('(() => { throw new TypeError(\"inner\") })()').catch((error) => 'caught ' + error.message)",
                "\"caught TypeError: inner\"",
            ),
            ("await this.$fail()", "Thrown it failed Some(5)"),
            (
                "(async () => { try { await this.$fail() } catch (e) { throw e } })()",
                "Thrown it failed Some(5)",
            ),
            // The call is not awaited, so its error is reported below.
            ("[this.$fail(), 1][1]", "1"),
            ("[Promise.reject(new Error('alone')), 2][1]", "2"),
            ("await Promise.reject(new Error('x')).catch(() => 3)", "3"),
            (
                "(this.list = [1], this.list.push(2), await this.$other(), this.list.push(3), this.list)",
                "[1,2,3]",
            ),
            ("list.length", "3"),
            ("(this.keep = (x) => x + list.length, 0)", "0"),
            ("this.keep(1) + keep(2)", "9"),
        ];
        for (code, expected) in cases {
            assert_eq!(nest.shown(code).await, expected, "{code}");
        }
        let lines = std::mem::take(&mut *nest.lines.lock().unwrap());
        let told = ["it failed", "alone"]
            .map(|words| format!("Error: unhandled promise rejection: {words}"));
        assert_eq!(lines, told);
        let both = tokio::join!(
            nest.shown("await this.$meet(), 'one'"),
            nest.shown("await this.$meet(), 'two'")
        );
        assert_eq!(both, ("\"one\"".to_owned(), "\"two\"".to_owned()));
    }
}

#[tokio::test]
async fn timers_fire_in_order_and_end_with_their_piece() {
    for transport in transports() {
        let nest = Nest::new(transport);
        let cases = [
            (
                "await new Promise((done) => setTimeout(done, 1, 'late'))",
                "\"late\"",
            ),
            (
                "await new Promise((done) => { const seen = []; setTimeout(() => done(seen.join()), 30); setTimeout(() => seen.push('b'), 10); setTimeout((x) => seen.push(x), 1, 'a'); const id = setTimeout(() => seen.push('no'), 5); clearTimeout(id); queueMicrotask(() => seen.push('first')) })",
                "\"first,a,b\"",
            ),
            (
                "await new Promise((done) => { let n = 0; const id = setInterval(() => { if (++n === 3) { clearInterval(id); done(n) } }, 1) })",
                "3",
            ),
            ("(setInterval(() => {}, 1), 'over')", "\"over\""),
            (
                "(() => { for (let n = 0; n < 2000; n++) setTimeout(() => {}, 1e9) })()",
                "Thrown RangeError: too many timers (limit 1,000) None",
            ),
            (
                "await new Promise(() => setInterval(() => { for (;;) {} }, 1))",
                "Time JavaScript exceeded its time limit (js_time) None",
            ),
            (
                "await new Promise(() => {})",
                "Stuck the code waits for a promise that never settles None",
            ),
        ];
        for (code, expected) in cases {
            assert_eq!(nest.shown(code).await, expected, "{code}");
        }
    }
}

#[tokio::test]
async fn console_reaches_whoever_runs_it() {
    for transport in transports() {
        let nest = Nest::new(transport);
        assert_eq!(nest.shown("(console.log('a', {b: [1]}), console.warn('%s!', 'w'), console.error(new Map([[1, 2]])), 0)").await, "0");
        let lines = nest.lines.lock().unwrap().join("\n");
        assert_eq!(
            lines,
            "Info: a { b: [ 1 ] }\nWarning: w!\nError: Map(1) { 1 => 2 }"
        );
    }
}

#[tokio::test]
async fn a_piece_that_nobody_waits_for_ends() {
    for transport in transports() {
        let nest = Arc::new(Nest::new(transport));
        assert_eq!(nest.shown("this.started = 0").await, "0");
        {
            let spin = nest
                .js
                .evaluate("(() => { this.started = 1; for (;;) {} })()", &*nest);
            let mut spin = Box::pin(spin);
            // The call is polled until its loop runs, and is then dropped.
            while nest
                .variables
                .lock()
                .unwrap()
                .last()
                .map(|(_, value)| shown(value))
                != Some("1".to_owned())
            {
                std::future::poll_fn(|context| {
                    assert!(spin.as_mut().poll(context).is_pending());
                    Poll::Ready(())
                })
                .await;
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(nest.shown("1 + 1").await, "2");
    }
}

#[tokio::test]
async fn values_that_nest_deeply_or_are_large_are_refused() {
    for transport in transports() {
        let js = Js::new(JsOptions {
            transport,
            ..JsOptions::default()
        });
        let deep = define(
            &js,
            "f(n) { let a = []; for (let i = 1; i < n; i++) a = [a]; return a }",
        );
        let call = |n: i64| {
            let arguments = vec![JsValueRef::Value(n.into())];
            let js = &js;
            async move {
                js.call(&deep.into(), arguments, &Names::default())
                    .await
                    .map(|_| ())
                    .map_err(|error| error.kind)
            }
        };
        assert_eq!(call(127).await, Ok(()));
        assert_eq!(call(128).await, Err(JsErrorKind::Data));
        assert_eq!(call(100_000).await, Err(JsErrorKind::Data));
        for code in ["new Array(1e9)", "Array.from({length: 5e6}, () => 0)"] {
            let kind = js.evaluate(code, &Names::default()).await.unwrap_err().kind;
            assert!(
                matches!(
                    kind,
                    JsErrorKind::Data | JsErrorKind::Memory | JsErrorKind::Time
                ),
                "{code}: {kind:?}"
            );
        }
    }
}
