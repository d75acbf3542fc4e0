//! The hidden command that runs a script's JavaScript.

use std::time::Duration;

use quillet_core::Value;
use quillet_script::js::{
    ConsoleLevel, HostCallResult, Js, JsError, JsErrorKind, JsOptions, JsValueRef, LookupResult,
    Runtime, Transport, WorkerLimits, WorkerProgram,
};

use crate::Place;

/// A host without any names.
struct Nothing;

impl Runtime for Nothing {
    fn get(&self, _: &str) -> LookupResult {
        LookupResult::Missing
    }

    fn set(&self, _: &str, _: JsValueRef) -> Result<(), JsError> {
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(&'a self, _: &str, _: Vec<JsValueRef>) -> HostCallResult<'a> {
        HostCallResult::Now(Ok(JsValueRef::Undefined))
    }

    fn log(&self, _: ConsoleLevel, _: &str) {}
}

#[test]
fn it_is_no_command_for_people() {
    let help = Place::new().command(&["--help"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains("js-worker"));
}

#[tokio::test]
async fn it_computes_and_is_killed_when_it_does_not_end() {
    let program = WorkerProgram {
        path: env!("CARGO_BIN_EXE_quillet").into(),
        arguments: vec!["js-worker".to_owned()],
    };
    let bounds = WorkerLimits {
        time: Duration::from_millis(500),
        ..WorkerLimits::default()
    };
    let js = Js::new(JsOptions {
        bounds,
        transport: Transport::Process(program),
        ..JsOptions::default()
    });
    for _ in 0..2 {
        let value = js
            .evaluate("[6 * 7, typeof process]", &Nothing)
            .await
            .unwrap();
        assert_eq!(
            value,
            JsValueRef::Value(vec![Value::from(42), "undefined".into()].into())
        );
        // Only the end of the process interrupts this script.
        let error = js
            .evaluate("new Array(1e9) + ''", &Nothing)
            .await
            .unwrap_err();
        assert_eq!(error.kind, JsErrorKind::Time, "{error}");
    }
}
