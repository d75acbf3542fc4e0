//! Events of a running call.

use quillet_core::chat::ChatRequest;
use quillet_core::{BoxFuture, Map, Value};

use crate::ScriptError;

/// Receives the events of a model call. The interpreter uses an observer to emit `llmRequest`,
/// `llmStream` and similar events.
pub trait CallObserver: Send + Sync {
    /// Handles an event. The call continues when the future is ready.
    ///
    /// # Errors
    /// Any error ends the call: a limit on calls, an exception in a listener, or `$abort`.
    fn event<'a>(&'a self, event: CallEvent<'a>) -> BoxFuture<'a, Result<(), ScriptError>>;
}

/// An event of a model call. Events arrive in order.
#[derive(Clone, Debug)]
pub enum CallEvent<'a> {
    /// A request will be sent to the model. There may be several: for continuations, repairs and
    /// tool calls.
    Request(&'a ChatRequest),
    /// A delta of the visible answer, if it is streamed.
    Chunk {
        /// The text.
        text: &'a str,
        /// The visible answer so far, including this text.
        content: &'a str,
        /// Number of continuations so far.
        retry: u32,
        /// The provider's id of the response.
        id: &'a str,
    },
    /// A delta of the model's thinking, unless `shouldThink.visible` is `false`.
    Thinking(&'a str),
    /// The text streamed so far is discarded: the answer did not have the required form and is
    /// requested again.
    Again {
        /// The reason, as a message.
        why: &'a str,
    },
    /// A tool will be called.
    ToolCall {
        /// Its name.
        name: &'a str,
        /// Its arguments.
        arguments: &'a Value,
    },
    /// A tool call ended.
    ToolResult {
        /// Its name.
        name: &'a str,
        /// Its result, or an error message.
        result: &'a Result<Value, String>,
    },
}

/// Ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCallObserver;

impl CallObserver for NoCallObserver {
    fn event<'a>(&'a self, _: CallEvent<'a>) -> BoxFuture<'a, Result<(), ScriptError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Converts a request for display: `{model?, messages, …options}`, in the format of the OpenAI Chat
/// API.
#[must_use]
pub fn request_map(request: &ChatRequest) -> Map {
    let json = |tree: serde_json::Result<serde_json::Value>| Value::from(tree.unwrap_or_default());
    let mut table = quillet_core::MapTable::default();
    if let Some(model) = &request.model {
        table.insert("model".into(), model.as_str().into());
    }
    let messages = json(serde_json::to_value(&request.messages));
    table.insert("messages".into(), messages);
    if let Value::Map(options) = json(serde_json::to_value(&request.options)) {
        table.extend(options.to_table());
    }
    Map::new(table)
}
