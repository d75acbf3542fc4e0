//! Tools whose results are recorded, so that no call is repeated.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::journal::{JournalEvent, RecordedFailure, RecordedOutput};
use quillet_core::store::StoreError;
use quillet_core::tool::{Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, Map, Value, json};
use serde_json::Value as Json;
use tokio::time::timeout;

use super::run_journal::RunJournal;

/// Safety margin before the caller's deadline. The result must be recorded while the caller still
/// waits: after its deadline it drops this future, and nothing more is written.
const EARLIER: Duration = Duration::from_millis(25);
/// Timeout of calls without a limit.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Tool of a run with a journal.
#[derive(Debug)]
pub(in crate::agent) struct JournalledTool {
    inner: Arc<dyn Tool>,
    book: Arc<RunJournal>,
}

impl JournalledTool {
    /// Wraps a tool of a script.
    pub(in crate::agent) fn new(inner: Arc<dyn Tool>, book: Arc<RunJournal>) -> Self {
        JournalledTool { inner, book }
    }
}

/// Wraps a tool of an agent.
pub(super) fn journalled(tool: &Arc<dyn Tool>, book: &Arc<RunJournal>) -> Arc<dyn Tool> {
    Arc::new(JournalledTool {
        inner: tool.clone(),
        book: book.clone(),
    })
}

impl JournalledTool {
    fn called(&self, call: &Arc<str>, arguments: serde_json::Map<String, Json>) -> JournalEvent {
        let spec = self.inner.spec();
        JournalEvent::Called {
            call: call.clone(),
            tool: spec.name.as_str().into(),
            arguments,
            repeat: spec.repeat,
        }
    }

    /// Whether an external system makes this call. If so, records it as held back.
    pub(in crate::agent) fn is_held(
        &self,
        call: &Arc<str>,
        arguments: &serde_json::Map<String, Json>,
    ) -> bool {
        let lent = self.book.as_lent();
        lent.is_some_and(|lent| !lent.may_call(call, &self.called(call, arguments.clone())))
    }

    async fn make(&self, arguments: Map, context: &ToolContext) -> Result<ToolAnswer, ToolError> {
        if let Some(result) = self.book.call(&context.call).result {
            return answer(result);
        }
        let called = self.called(&context.call, written(&arguments));
        let lent = self.book.as_lent();
        if lent.is_some_and(|lent| !lent.may_call(&context.call, &called)) {
            return Err(paused_error());
        }
        // The call is recorded before it is made, so that after a crash the next process knows that
        // it may have been made.
        self.book.go_live();
        self.book
            .write(called)
            .await
            .map_err(|error| journal_error(&error))?;
        let limit = context.remaining(LONGEST).saturating_sub(EARLIER);
        let result = match timeout(limit, self.inner.call_for_model(arguments, context)).await {
            Ok(result) => result,
            Err(_) => Err(timeout_error()),
        };
        let returned = JournalEvent::Returned {
            call: context.call.clone(),
            result: to_recorded(&result),
        };
        self.book
            .write(returned)
            .await
            .map_err(|error| journal_error(&error))?;
        result
    }
}

impl Tool for JournalledTool {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move { Ok(self.make(arguments, context).await?.value) })
    }

    fn call_for_model<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(self.make(arguments, context))
    }
}

/// Arguments in their recorded form.
pub(in crate::agent) fn written(arguments: &Map) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::from_str(&json::to_string(&Value::Map(arguments.clone()))) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => serde_json::Map::new(),
    }
}

fn to_recorded(result: &Result<ToolAnswer, ToolError>) -> Result<RecordedOutput, RecordedFailure> {
    match result {
        Ok(answer) => Ok(RecordedOutput {
            value: json::to_string(&answer.value),
            images: answer.images.clone(),
        }),
        Err(error) => Err(RecordedFailure {
            kind: error.kind,
            message: error.message.clone(),
            for_model: error.for_model.clone(),
        }),
    }
}

/// Converts a result that a person provided instead of the call.
pub(in crate::agent) fn value_of(text: &str) -> Value {
    json::parse(text).unwrap_or_else(|_| Value::from(text))
}

fn answer(result: Result<RecordedOutput, RecordedFailure>) -> Result<ToolAnswer, ToolError> {
    match result {
        Ok(made) => Ok(ToolAnswer {
            value: json::parse(&made.value).map_err(|error| {
                let message = format!("invalid result in the run's journal: {error}");
                ToolError::new(ToolErrorKind::Protocol, message)
            })?,
            images: made.images,
        }),
        Err(failed) => Err(ToolError {
            kind: failed.kind,
            message: failed.message,
            for_model: failed.for_model,
        }),
    }
}

fn timeout_error() -> ToolError {
    let message = "The call exceeded its time limit and was stopped.";
    ToolError::new(ToolErrorKind::Timeout, message)
}

fn journal_error(error: &StoreError) -> ToolError {
    let message = format!("cannot write the run's journal: {error}");
    ToolError::new(ToolErrorKind::Transport, message)
}

/// Placeholder result of a call that another process makes: the loop ends before the result is
/// used.
fn paused_error() -> ToolError {
    ToolError::new(
        ToolErrorKind::Transport,
        "the call is made by another process",
    )
}
