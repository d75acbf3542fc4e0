//! The items of a response.

use quillet_core::{Message, Role, ToolCall};
use serde_json::{Value, json};

/// The text in ids of items that this server created.
const MADE_HERE: &str = "_quillet_";

/// Returns whether this server created an item sent by a client.
pub(super) fn is_made_here(item: &Value) -> bool {
    let id = item.get("id").and_then(Value::as_str);
    id.is_some_and(|id| id.contains(MADE_HERE))
}

/// An item of a response, possibly incomplete.
#[derive(Debug)]
pub(super) struct OutputItem {
    pub(super) id: String,
    pub(super) kind: OutputItemKind,
    pub(super) is_open: bool,
    /// The text, reasoning or refusal, or the arguments of a call.
    pub(super) text: String,
}

/// The kind of an output item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OutputItemKind {
    /// Plain text.
    Text,
    /// The refusal of the model.
    Refusal,
    /// Reasoning, with the turn in its provider's format when it is known.
    Reasoning(Option<String>),
    /// A call with its index in the response, its id and its tool.
    Call(u32, String, String),
}

impl OutputItem {
    pub(super) fn new(response: &str, index: usize, kind: OutputItemKind) -> Self {
        let prefix = match kind {
            OutputItemKind::Text | OutputItemKind::Refusal => "msg",
            OutputItemKind::Reasoning(_) => "rs",
            OutputItemKind::Call(..) => "fc",
        };
        let own = response.strip_prefix("resp_").unwrap_or(response);
        OutputItem {
            id: format!("{prefix}{MADE_HERE}{own}_{index}"),
            kind,
            is_open: true,
            text: String::new(),
        }
    }

    /// Returns the item as JSON. An item in progress has no text.
    pub(super) fn json(&self, status: &str) -> Value {
        let id = &self.id;
        match &self.kind {
            OutputItemKind::Text | OutputItemKind::Refusal => {
                let content = match status {
                    "in_progress" => Vec::new(),
                    _ => vec![self.part(&self.text)],
                };
                json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
            }
            OutputItemKind::Reasoning(encrypted) => {
                let summary = if self.text.is_empty() {
                    Vec::new()
                } else {
                    vec![self.part(&self.text)]
                };
                let mut item = json!({"id": id, "type": "reasoning", "summary": summary});
                if let Some(encrypted) = encrypted {
                    item["encrypted_content"] = encrypted.as_str().into();
                }
                item
            }
            OutputItemKind::Call(_, call, name) => json!({
                "id": id, "type": "function_call", "status": status,
                "call_id": call, "name": name, "arguments": self.text,
            }),
        }
    }

    /// Returns the only part of an item with this text. Calls have no part.
    pub(super) fn part(&self, text: &str) -> Value {
        match &self.kind {
            OutputItemKind::Text | OutputItemKind::Call(..) => {
                json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
            }
            OutputItemKind::Refusal => json!({"type": "refusal", "refusal": text}),
            OutputItemKind::Reasoning(_) => json!({"type": "summary_text", "text": text}),
        }
    }
}

/// Converts the items to one message of the conversation.
pub(super) fn message(items: &[OutputItem]) -> Message {
    let mut message = Message::new(Role::Assistant, "");
    let (mut said, mut thought) = (String::new(), String::new());
    for item in items {
        match &item.kind {
            OutputItemKind::Text | OutputItemKind::Refusal => said.push_str(&item.text),
            OutputItemKind::Reasoning(_) => thought.push_str(&item.text),
            OutputItemKind::Call(_, id, name) => message.tool_calls.push(ToolCall {
                id: id.clone(),
                name: name.clone(),
                arguments: item.text.clone(),
            }),
        }
    }
    message.content = said.into();
    message.reasoning = Some(thought).filter(|text| !text.is_empty());
    message
}
