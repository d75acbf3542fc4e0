//! State that a server expects back with the turn in the next request, assembled from chunks:
//! OpenRouter's `reasoning_details`.

use quillet_core::NativeTurn;
use serde_json::{Map, Value};

use super::calls::ToolCallAssembler;
use crate::protocol::wire_name::OPENAI_CHAT as WIRE;

/// State of a partially received answer.
#[derive(Debug, Default)]
pub(super) struct ReasoningState {
    details: Vec<Value>,
}

impl ReasoningState {
    /// Returns the readable text of the details.
    pub(super) fn visible(details: &[Value]) -> String {
        let text = |detail: &Value| {
            let text = detail.get("text").or_else(|| detail.get("summary"));
            text.and_then(Value::as_str).map(str::to_owned)
        };
        details.iter().filter_map(text).collect()
    }

    /// Adds chunks: texts of the same detail are joined, and its other members are replaced.
    pub(super) fn keep(&mut self, pieces: Vec<Value>) {
        for piece in pieces {
            match self.details.last_mut() {
                Some(last) if is_same(last, &piece) => join(last, piece),
                _ => self.details.push(piece),
            }
        }
    }

    /// Returns the native turn, if it contains more than text and calls.
    pub(super) fn into_turn(
        self,
        model: &str,
        calls: &mut ToolCallAssembler,
    ) -> Option<NativeTurn> {
        let mut content = Map::new();
        if !self.details.is_empty() {
            content.insert("reasoning_details".into(), self.details.into());
        }
        if let Some(extras) = calls.take_extras() {
            content.insert("tool_calls".into(), extras);
        }
        (!content.is_empty()).then(|| NativeTurn {
            wire: WIRE.to_owned(),
            model: Some(model.to_owned()),
            content: Value::Object(content),
        })
    }
}

fn is_same(last: &Value, piece: &Value) -> bool {
    let same = |name: &str| last.get(name) == piece.get(name);
    let grows = |value: &Value| value.get("data").is_none();
    same("type") && same("index") && grows(last) && grows(piece)
}

fn join(last: &mut Value, piece: Value) {
    let (Some(last), Value::Object(piece)) = (last.as_object_mut(), piece) else {
        return;
    };
    for (key, value) in piece {
        match (last.get_mut(&key), &value) {
            (Some(Value::String(there)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary") =>
            {
                there.push_str(more);
            }
            (Some(_), Value::Null) => {}
            _ => {
                last.insert(key, value);
            }
        }
    }
}
