//! Forwards the events of a model call to the script and to the observer.

use quillet_core::chat::{ChatRequest, Usage};
use quillet_core::{BoxFuture, Map, Value};

use super::ModelClient;
use crate::call::{CallEvent, CallObserver};
use crate::error::ScriptError;
use crate::host::RunEvent;

/// Emits the events of a call in the script and reports them to the observer.
#[derive(Debug)]
pub(super) struct Watch<'s> {
    pub(super) asker: &'s ModelClient,
    pub(super) role: String,
    /// Whether the answer is the script's result without changes.
    pub(super) closing: bool,
}

impl CallObserver for Watch<'_> {
    fn event<'a>(&'a self, event: CallEvent<'a>) -> BoxFuture<'a, Result<(), ScriptError>> {
        Box::pin(self.emit_event(event))
    }
}

impl Watch<'_> {
    async fn emit_event(&self, event: CallEvent<'_>) -> Result<(), ScriptError> {
        let observer = &self.asker.world().observer;
        match event {
            CallEvent::Request(request) => self.request(request)?,
            CallEvent::Chunk {
                text,
                content,
                retry,
                id,
            } => {
                if !self.asker.is_inner() {
                    observer.event(RunEvent::Delta {
                        role: self.role.clone(),
                        text: text.to_owned(),
                        closing: self.closing,
                    });
                }
                self.chunk(text, content, retry, id).await?;
            }
            CallEvent::Thinking(text) => observer.event(RunEvent::Thinking {
                text: text.to_owned(),
            }),
            CallEvent::Again { .. } => {}
            CallEvent::ToolCall { name, arguments } => observer.event(RunEvent::ToolCall {
                name: name.to_owned(),
                arguments: arguments.clone(),
            }),
            CallEvent::ToolResult { name, result } => observer.event(RunEvent::ToolResult {
                name: name.to_owned(),
                result: result.clone(),
            }),
        }
        Ok(())
    }

    fn request(&self, request: &ChatRequest) -> Result<(), ScriptError> {
        let model = request.model.as_deref().unwrap_or_default();
        let world = self.asker.world();
        // A cost for zero usage is `Some` exactly if the model has a price.
        let has_price = world.engine.models.cost(model, &Usage::default()).is_some();
        self.asker.check_budget(model, has_price)?;
        let event = RunEvent::Request(Box::new(request.clone()));
        world.observer.event(event);
        Ok(())
    }

    async fn chunk(
        &self,
        text: &str,
        content: &str,
        retry: u32,
        id: &str,
    ) -> Result<(), ScriptError> {
        if !self.asker.listens("llmStream") {
            return Ok(());
        }
        let chunk = Map::from_iter([("content", Value::from(text)), ("id", Value::from(id))]);
        let arguments = vec![
            Some(Value::Map(chunk)),
            Some(Value::from(content)),
            Some(Value::Int(retry.into())),
        ];
        self.asker.emit("llmStream", arguments).await?;
        Ok(())
    }
}
