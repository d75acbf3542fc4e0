//! Functions for the templates of these tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quillet_core::{BoxFuture, Value, json};
use quillet_template::{CallArguments, CallError, FunctionHost};
use tokio::sync::{Barrier, Notify};

/// `d0` to `d9` return their digit, for formats whose calls have no arguments.
pub(crate) const DIGITS: &[&str] = &["d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9"];

pub(crate) const NAMES: &[&str] = &[
    "echo", "plus", "crash", "wrong", "yes", "no", "three", "pair", "person", "d0", "d1", "d2",
    "d3", "d4", "d5", "d6", "d7", "d8", "d9",
];

type Answer<'a> = BoxFuture<'a, Result<Value, CallError>>;

/// Functions that record their calls.
#[derive(Default)]
pub(crate) struct RecordedCalls {
    pub(crate) calls: Mutex<Vec<String>>,
    pub(crate) idempotent: bool,
    /// A barrier that calls must reach before any of them returns.
    pub(crate) gate: Option<Barrier>,
    /// Duration of each call.
    pub(crate) time: Duration,
    /// Result of every call, if it replaces the usual one.
    pub(crate) answer: Option<&'static str>,
}

impl RecordedCalls {
    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().expect("nobody panicked").clone()
    }
}

impl FunctionHost for RecordedCalls {
    fn contains(&self, name: &str) -> bool {
        NAMES.contains(&name)
    }
    fn names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }
    fn idempotent(&self, _: &str) -> bool {
        self.idempotent
    }
    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        match name {
            "echo" | "plus" | "crash" => Some(vec!["text".into()]),
            _ => Some(Vec::new()),
        }
    }
    fn call<'a>(&'a self, name: &'a str, arguments: CallArguments) -> Answer<'a> {
        let mut calls = self.calls.lock().expect("nobody panicked");
        calls.push(name.to_owned());
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.wait().await;
            }
            if !self.time.is_zero() {
                tokio::time::sleep(self.time).await;
            }
            match self.answer {
                Some(answer) => Ok(answer.into()),
                None => answer(name, &arguments),
            }
        })
    }
}

fn answer(name: &str, arguments: &CallArguments) -> Result<Value, CallError> {
    let named = || arguments.named.get("text");
    let first = arguments.positional.first().or_else(named).cloned();
    let first = first.unwrap_or_default();
    Ok(match name {
        "echo" => first,
        "plus" => format!("{}+", first.as_str().unwrap_or_default()).into(),
        "yes" => true.into(),
        "no" => false.into(),
        "three" => 3.into(),
        "pair" => vec![1, 2].into(),
        "person" => json::parse(r#"{"name":"Ann","tags":["a"]}"#).expect("it is JSON"),
        "crash" => return Err(CallError::new("it broke")),
        _ if DIGITS.contains(&name) => name[1..].into(),
        _ => Value::Null,
    })
}

/// Functions that never return and count the waiting calls.
#[derive(Default)]
pub(crate) struct Hanging {
    waiting: Arc<AtomicUsize>,
    pub(crate) called: Notify,
}

impl Hanging {
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }
}

struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl FunctionHost for Hanging {
    fn contains(&self, name: &str) -> bool {
        NAMES.contains(&name)
    }
    fn names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }
    fn parameters(&self, _: &str) -> Option<Vec<String>> {
        Some(vec!["text".into()])
    }
    fn call<'a>(&'a self, _: &'a str, _: CallArguments) -> Answer<'a> {
        Box::pin(async move {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let _waiting = Waiting(Arc::clone(&self.waiting));
            self.called.notify_one();
            std::future::pending().await
        })
    }
}
