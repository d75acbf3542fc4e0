//! A model that misbehaves as specified by a vector.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    Bytes4, ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError,
};
use quillet_core::{Map, Value};
use quillet_script::host::{ModelCapabilities, ModelHandle, ModelSource};

use super::case::items;

/// Gives the same answer to all requests: `say`, repeated `times` times, with a number in each
/// chunk if `numbered`, and with tool `calls`. `end` is `finish`, `cut` or `forever`.
#[derive(Clone, Debug)]
pub(super) struct Hostile {
    say: String,
    times: usize,
    numbered: bool,
    calls: Vec<String>,
    end: String,
    native: bool,
}

impl Hostile {
    pub(super) fn new(described: &Map) -> Self {
        let text = |key: &str| {
            described
                .get(key)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let times = match described.get("times") {
            Some(Value::Int(times)) => usize::try_from(*times).unwrap_or(1),
            _ => 1,
        };
        let calls = items(described.get("calls")).iter();
        let calls = calls.filter_map(Value::as_str);
        Hostile {
            say: text("say").unwrap_or_else(|| "yes".to_owned()),
            times,
            numbered: described.get("numbered") == Some(&Value::Bool(true)),
            calls: calls.map(str::to_owned).collect(),
            end: text("end").unwrap_or_else(|| "finish".to_owned()),
            native: described.get("native") != Some(&Value::Bool(false)),
        }
    }

    fn call(&self, name: &str, index: u32) -> ChatEvent {
        ChatEvent::ToolCall {
            choice: 0,
            index,
            id: Some(format!("call-{index}")),
            name: Some(name.to_owned()),
            arguments: "{}".to_owned(),
        }
    }

    fn finish(&self) -> Option<ChatEvent> {
        let reason = if self.calls.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        };
        (self.end == "finish").then(|| ChatEvent::Finish {
            choice: 0,
            reason,
            raw: reason.to_string(),
        })
    }
}

impl ChatModel for Hostile {
    fn describe(&self) -> String {
        "hostile".to_owned()
    }

    fn stream(&self, _: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let (say, numbered) = (self.say.clone(), self.numbered);
        let piece = move |number: usize| ChatEvent::Text {
            choice: 0,
            text: if numbered {
                format!("{say}{number}")
            } else {
                say.clone()
            },
        };
        let times = match &*self.end {
            "forever" => usize::MAX,
            _ => self.times,
        };
        let said = stream::iter((0..times).map(piece));
        let calls = self.calls.iter().zip(0..);
        let calls: Vec<ChatEvent> = calls.map(|(name, index)| self.call(name, index)).collect();
        let rest = stream::iter(calls.into_iter().chain(self.finish()));
        Box::pin(async move { Ok(Box::pin(said.chain(rest).map(Ok)) as ChatStream) })
    }
}

impl ModelSource for Hostile {
    fn model(&self, _: Option<&str>) -> Result<ModelHandle, String> {
        Ok(ModelHandle {
            model: Arc::new(self.clone()),
            name: None,
            abilities: ModelCapabilities {
                tools: self.native,
                ..ModelCapabilities::default()
            },
            counter: Arc::new(Bytes4),
            window: None,
        })
    }
}
