//! Records a run for its expectations.

use std::sync::{Mutex, MutexGuard};

use quillet_core::lock::lock;
use quillet_core::{Map, Value};

use crate::call::request_map;
use crate::host::{Observer, RunEvent};

/// Records the requests, calls and output of a run.
#[derive(Debug, Default)]
pub(super) struct RunObserver(Mutex<ObservedRun>);

/// The recorded events of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct ObservedRun {
    /// Requests to models, in order.
    pub(super) requests: Vec<Map>,
    /// Tool calls in order, with name, arguments, and result or error.
    pub(super) calls: Vec<ObservedCall>,
    /// Lines for standard output.
    pub(super) printed: Vec<String>,
}

/// A tool call.
#[derive(Clone, Debug)]
pub(super) struct ObservedCall {
    name: String,
    arguments: Value,
    result: Option<Result<Value, String>>,
}

impl RunObserver {
    fn seen(&self) -> MutexGuard<'_, ObservedRun> {
        lock(&self.0)
    }

    /// Returns the events recorded so far.
    pub(super) fn to_run(&self) -> ObservedRun {
        self.seen().clone()
    }
}

impl Observer for RunObserver {
    fn event(&self, event: RunEvent) {
        let mut seen = self.seen();
        match event {
            RunEvent::Printed(line) => seen.printed.push(line),
            RunEvent::Request(request) => seen.requests.push(request_map(&request)),
            RunEvent::ToolCall { name, arguments } => seen.calls.push(ObservedCall {
                name,
                arguments,
                result: None,
            }),
            RunEvent::ToolResult { name, result } => {
                // A result has no id, so it belongs to the oldest open call of the same name.
                let open = |call: &&mut ObservedCall| call.name == name && call.result.is_none();
                if let Some(call) = seen.calls.iter_mut().find(open) {
                    call.result = Some(result);
                }
            }
            RunEvent::Message { .. }
            | RunEvent::Delta { .. }
            | RunEvent::Thinking { .. }
            | RunEvent::Warning(_) => {}
        }
    }
}

impl ObservedCall {
    /// Returns the value that fixtures see: `{name, args, result}`, or `error` instead of a result.
    pub(super) fn value(&self) -> Value {
        let mut entries = vec![
            ("name", Value::from(self.name.as_str())),
            ("args", self.arguments.clone()),
        ];
        match &self.result {
            Some(Ok(result)) => entries.push(("result", result.clone())),
            Some(Err(why)) => entries.push(("error", Value::from(why.as_str()))),
            None => {}
        }
        Value::Map(entries.into_iter().collect())
    }
}
