//! State of a partially received turn. It records the emitted part of each item, so every text and
//! call is emitted once, whether it arrives in chunks, complete or both.

use std::collections::BTreeMap;

use quillet_core::NativeTurn;
use quillet_core::chat::{ChatEvent, ModelError};
use serde_json::Value;

use crate::protocol::broken;
use crate::protocol::wire_name::OPENAI_RESPONSES as WIRE;

/// Maximum number of items in one turn; no model creates more.
// The server chooses the indexes of items, so their number needs a bound.
const MOST_ITEMS: usize = 1024;

/// State of the turn.
#[derive(Debug, Default)]
pub(super) struct ResponseState {
    // Ordered, because items may be interleaved and are sent back in order.
    items: BTreeMap<u64, ItemState>,
    calls: u32,
    refused: bool,
}

/// State of an item, with the number of emitted bytes of its texts.
#[derive(Debug, Default)]
struct ItemState {
    /// Emitted bytes by part of the item; see [`TextKind`].
    told: BTreeMap<(TextKind, u64), usize>,
    /// Number of the call, if the item is one.
    call: Option<u32>,
    /// The item as the provider sent it, once complete.
    whole: Option<Value>,
}

/// Kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TextKind {
    Text,
    Refusal,
    Summary,
    Thought,
    Arguments,
}

impl ResponseState {
    /// Whether the turn contains calls.
    pub(super) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    /// Whether the model refused the request.
    pub(super) fn has_refused(&self) -> bool {
        self.refused
    }

    /// Returns the native turn: its unchanged items in order.
    pub(super) fn into_native(self, model: &str) -> Option<NativeTurn> {
        let items = self.items.into_values().filter_map(|item| item.whole);
        let items: Vec<Value> = items.collect();
        (!items.is_empty()).then(|| NativeTurn {
            wire: WIRE.to_owned(),
            model: Some(model.to_owned()),
            content: Value::Array(items),
        })
    }

    /// Ends the turn with its final items. The items of a stream have already been emitted. Some
    /// servers number them differently, and some leave the final list empty.
    pub(super) fn close(
        &mut self,
        output: &[Value],
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        if self.items.is_empty() {
            let mut items = (0..).zip(output);
            return items.try_for_each(|(index, item)| self.whole_item(index, item, events));
        }
        if !output.is_empty() {
            let whole = |item: &Value| ItemState {
                whole: Some(item.clone()),
                ..ItemState::default()
            };
            // The final list replaces the collected one: it is what the provider expects back.
            self.items = (0..).zip(output.iter().map(whole)).collect();
        }
        Ok(())
    }

    /// Handles an event about an item; unknown events are ignored.
    pub(super) fn event(
        &mut self,
        kind: &str,
        event: &Value,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let number = |name: &str| event.get(name).and_then(Value::as_u64);
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let index = number("output_index").unwrap_or_default();
        // Events of reasoning summaries have the number of the part in another member.
        let part = number("content_index").or_else(|| number("summary_index"));
        let part = part.unwrap_or_default();
        match kind {
            "response.output_item.added" => self.open_call(index, event.get("item"), events),
            "response.output_item.done" => match event.get("item") {
                Some(item) => self.whole_item(index, item, events),
                None => Ok(()),
            },
            "response.output_text.delta" => {
                self.emit_delta(index, TextKind::Text, part, text("delta"), events)
            }
            "response.refusal.delta" => {
                self.emit_delta(index, TextKind::Refusal, part, text("delta"), events)
            }
            "response.reasoning_summary_text.delta" => {
                self.emit_delta(index, TextKind::Summary, part, text("delta"), events)
            }
            "response.reasoning_text.delta" => {
                self.emit_delta(index, TextKind::Thought, part, text("delta"), events)
            }
            "response.function_call_arguments.delta" => {
                self.emit_delta(index, TextKind::Arguments, 0, text("delta"), events)
            }
            "response.function_call_arguments.done" => {
                self.emit_rest(index, TextKind::Arguments, 0, text("arguments"), events)
            }
            _ => Ok(()),
        }
    }

    /// Handles a complete item: emits the parts not yet emitted, and stores the item.
    pub(super) fn whole_item(
        &mut self,
        index: u64,
        item: &Value,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let list = |name: &str| {
            item.get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        let text = |part: &Value, name: &str| -> String {
            let text = part.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        match item.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message" => {
                for (part, content) in list("content").enumerate() {
                    let part = part as u64;
                    self.emit_rest(index, TextKind::Text, part, &text(content, "text"), events)?;
                    let refusal = text(content, "refusal");
                    self.emit_rest(index, TextKind::Refusal, part, &refusal, events)?;
                }
            }
            "reasoning" => {
                for (part, summary) in list("summary").enumerate() {
                    let text = text(summary, "text");
                    self.emit_rest(index, TextKind::Summary, part as u64, &text, events)?;
                }
                for (part, content) in list("content").enumerate() {
                    let text = text(content, "text");
                    self.emit_rest(index, TextKind::Thought, part as u64, &text, events)?;
                }
            }
            "function_call" => {
                self.open_call(index, Some(item), events)?;
                let arguments = text(item, "arguments");
                self.emit_rest(index, TextKind::Arguments, 0, &arguments, events)?;
            }
            _ => {}
        }
        self.item(index)?.whole = Some(item.clone());
        Ok(())
    }

    /// Starts a call at the start of its item.
    fn open_call(
        &mut self,
        index: u64,
        item: Option<&Value>,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let Some(item) =
            item.filter(|item| item.get("type").and_then(Value::as_str) == Some("function_call"))
        else {
            return Ok(());
        };
        // `done` repeats the item of `added`, so a known call is not announced again.
        if self.item(index)?.call.is_some() {
            return Ok(());
        }
        let call = self.calls;
        self.calls += 1;
        self.item(index)?.call = Some(call);
        let text = |name: &str| {
            let text = item.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        events.push(ChatEvent::ToolCall {
            choice: 0,
            index: call,
            // Results refer to the id of the call and not to the id of the item.
            id: Some(text("call_id").unwrap_or_else(crate::protocol::made::call_id)),
            name: text("name"),
            arguments: String::new(),
        });
        Ok(())
    }

    /// Emits a part of a text.
    fn emit_delta(
        &mut self,
        index: u64,
        kind: TextKind,
        part: u64,
        piece: &str,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.refused |= kind == TextKind::Refusal;
        let item = self.item(index)?;
        let begins = !item.told.contains_key(&(kind, part));
        *item.told.entry((kind, part)).or_default() += piece.len();
        let call = item.call;
        let mut text = piece.to_owned();
        // Parts of a summary are paragraphs.
        if begins && kind == TextKind::Summary && part > 0 {
            text.insert_str(0, "\n\n");
        }
        let choice = 0;
        events.push(match kind {
            TextKind::Text => ChatEvent::Text { choice, text },
            TextKind::Refusal => ChatEvent::Refusal { choice, text },
            TextKind::Summary | TextKind::Thought => ChatEvent::Reasoning { choice, text },
            TextKind::Arguments => {
                let Some(index) = call else {
                    return Err(broken("received arguments for an item that is not a call"));
                };
                ChatEvent::ToolCall {
                    choice,
                    index,
                    id: None,
                    name: None,
                    arguments: text,
                }
            }
        });
        Ok(())
    }

    /// Emits the part of a complete text that has not been emitted.
    fn emit_rest(
        &mut self,
        index: u64,
        kind: TextKind,
        part: u64,
        whole: &str,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let told = self.item(index)?.told.get(&(kind, part)).copied();
        // The texts are compared by length only. If the complete text is shorter than the streamed
        // one, the streamed text is preserved.
        let rest = whole.get(told.unwrap_or(0)..).unwrap_or_default();
        self.emit_delta(index, kind, part, rest, events)
    }

    fn item(&mut self, index: u64) -> Result<&mut ItemState, ModelError> {
        if self.items.len() >= MOST_ITEMS && !self.items.contains_key(&index) {
            return Err(broken("the answer has more than 1024 items"));
        }
        Ok(self.items.entry(index).or_default())
    }
}
