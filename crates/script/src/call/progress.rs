//! What a call reports while it runs.

use quillet_core::chat::ChatRequest;
use quillet_core::{BoxFuture, Map, Value};

use crate::ScriptError;

/// The observer of a call. The interpreter raises `llmRequest`, `llmStream` and the like from here.
pub trait CallObserver: Send + Sync {
    /// Something happened; the call continues when the future is ready.
    ///
    /// # Errors
    /// Whatever ends the call: a limit on calls, a listener that threw, `$abort`.
    fn event<'a>(&'a self, event: CallEvent<'a>) -> BoxFuture<'a, Result<(), ScriptError>>;
}

/// An event of a call of a model; they come in order.
#[derive(Clone, Debug)]
pub enum CallEvent<'a> {
    /// A request is about to go to the model. There are several where an answer is
    /// continued, asked for again, or calls tools.
    Request(&'a ChatRequest),
    /// A piece of the visible answer. Only where the answer streams.
    Chunk {
        /// The piece.
        text: &'a str,
        /// The visible answer until now, this piece included.
        content: &'a str,
        /// Which continuation of the answer this is, from 0.
        retry: u32,
        /// The provider's id of the answer.
        id: &'a str,
    },
    /// A piece of the model's thinking, unless `shouldThink.visible` is `false`.
    Thinking(&'a str),
    /// What was streamed until now does not count: the answer did not have its form, and the
    /// model is asked again.
    Again {
        /// Why, in words.
        why: &'a str,
    },
    /// A tool is about to be called.
    ToolCall {
        /// Its name.
        name: &'a str,
        /// Its arguments.
        arguments: &'a Value,
    },
    /// A call of a tool ended.
    ToolResult {
        /// Its name.
        name: &'a str,
        /// What it gave, or its failure in words.
        result: &'a Result<Value, String>,
    },
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCallObserver;

impl CallObserver for NoCallObserver {
    fn event<'a>(&'a self, _: CallEvent<'a>) -> BoxFuture<'a, Result<(), ScriptError>> {
        Box::pin(async { Ok(()) })
    }
}

/// A request as people read it: `{model?, messages, …options}`, in the shape of OpenAI's chat wire.
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
