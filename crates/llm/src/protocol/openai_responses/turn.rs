//! One turn while its items come: what has been handed out of each, so that a text or a call is
//! handed out once, whether it comes in pieces, whole, or both.

use std::collections::BTreeMap;

use quillet_core::NativeTurn;
use quillet_core::chat::{ChatEvent, ModelError};
use serde_json::Value;

use crate::protocol::broken;
use crate::protocol::wire_name::OPENAI_RESPONSES as WIRE;

/// No model writes more items in one turn.
// The server chooses the indexes of items, so their number needs a bound.
const MOST_ITEMS: usize = 1024;

/// The turn so far.
#[derive(Debug, Default)]
pub(super) struct ResponseState {
    // Ordered, because items may arrive interleaved and go back in their order.
    items: BTreeMap<u64, ItemState>,
    calls: u32,
    refused: bool,
}

/// What has been handed out of an item, in bytes where it is text.
#[derive(Debug, Default)]
struct ItemState {
    /// By part of the item; see [`TextKind`].
    told: BTreeMap<(TextKind, u64), usize>,
    /// The number of the call, if it is one.
    call: Option<u32>,
    /// As the provider wrote it, once it is whole.
    whole: Option<Value>,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TextKind {
    Text,
    Refusal,
    Summary,
    Thought,
    Arguments,
}

impl ResponseState {
    /// Whether the model wants calls made.
    pub(super) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    /// Whether the model said that it refuses.
    pub(super) fn has_refused(&self) -> bool {
        self.refused
    }

    /// The turn in the provider's words: its items in order, verbatim.
    pub(super) fn into_native(self, model: &str) -> Option<NativeTurn> {
        let items = self.items.into_values().filter_map(|item| item.whole);
        let items: Vec<Value> = items.collect();
        (!items.is_empty()).then(|| NativeTurn {
            wire: WIRE.to_owned(),
            model: Some(model.to_owned()),
            content: Value::Array(items),
        })
    }

    /// The turn is complete, and these are its items. Where it came as a stream, they have been
    /// handed out, under numbers that some servers do not keep to; some leave the list empty.
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

    /// What an event about an item means; unknown ones mean nothing.
    pub(super) fn event(
        &mut self,
        kind: &str,
        event: &Value,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let number = |name: &str| event.get(name).and_then(Value::as_u64);
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let index = number("output_index").unwrap_or_default();
        // Reasoning summaries count their parts under another name.
        let part = number("content_index").or_else(|| number("summary_index"));
        let part = part.unwrap_or_default();
        match kind {
            "response.output_item.added" => self.open_call(index, event.get("item"), events),
            "response.output_item.done" => match event.get("item") {
                Some(item) => self.whole_item(index, item, events),
                None => Ok(()),
            },
            "response.output_text.delta" => {
                self.emit_delta(index, (TextKind::Text, part), text("delta"), events)
            }
            "response.refusal.delta" => {
                self.emit_delta(index, (TextKind::Refusal, part), text("delta"), events)
            }
            "response.reasoning_summary_text.delta" => {
                self.emit_delta(index, (TextKind::Summary, part), text("delta"), events)
            }
            "response.reasoning_text.delta" => {
                self.emit_delta(index, (TextKind::Thought, part), text("delta"), events)
            }
            "response.function_call_arguments.delta" => {
                self.emit_delta(index, (TextKind::Arguments, 0), text("delta"), events)
            }
            "response.function_call_arguments.done" => {
                self.emit_rest(index, (TextKind::Arguments, 0), text("arguments"), events)
            }
            _ => Ok(()),
        }
    }

    /// An item that is complete: what of it has not been handed out yet, and the item itself.
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
                    self.emit_rest(
                        index,
                        (TextKind::Text, part),
                        &text(content, "text"),
                        events,
                    )?;
                    let refusal = text(content, "refusal");
                    self.emit_rest(index, (TextKind::Refusal, part), &refusal, events)?;
                }
            }
            "reasoning" => {
                for (part, summary) in list("summary").enumerate() {
                    let at = (TextKind::Summary, part as u64);
                    self.emit_rest(index, at, &text(summary, "text"), events)?;
                }
                for (part, content) in list("content").enumerate() {
                    let at = (TextKind::Thought, part as u64);
                    self.emit_rest(index, at, &text(content, "text"), events)?;
                }
            }
            "function_call" => {
                self.open_call(index, Some(item), events)?;
                let arguments = text(item, "arguments");
                self.emit_rest(index, (TextKind::Arguments, 0), &arguments, events)?;
            }
            _ => {}
        }
        self.item(index)?.whole = Some(item.clone());
        Ok(())
    }

    /// Begins a call when its item does.
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
        // `done` repeats the item that `added` has announced.
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
            // What a result answers is the call's id, not the item's.
            id: Some(text("call_id").unwrap_or_else(crate::protocol::made::call_id)),
            name: text("name"),
            arguments: String::new(),
        });
        Ok(())
    }

    /// A piece of a text.
    fn emit_delta(
        &mut self,
        index: u64,
        at: (TextKind, u64),
        piece: &str,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.refused |= at.0 == TextKind::Refusal;
        let item = self.item(index)?;
        let begins = !item.told.contains_key(&at);
        *item.told.entry(at).or_default() += piece.len();
        let call = item.call;
        let mut text = piece.to_owned();
        // Parts of a summary are paragraphs.
        if begins && at.0 == TextKind::Summary && at.1 > 0 {
            text.insert_str(0, "\n\n");
        }
        let choice = 0;
        events.push(match at.0 {
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

    /// What a whole text has beyond the pieces that came.
    fn emit_rest(
        &mut self,
        index: u64,
        at: (TextKind, u64),
        whole: &str,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let told = self.item(index)?.told.get(&at).copied().unwrap_or(0);
        // By length, not by comparison. If the complete text is shorter than what was streamed, the
        // streamed text stands.
        let rest = whole.get(told..).unwrap_or_default();
        self.emit_delta(index, at, rest, events)
    }

    fn item(&mut self, index: u64) -> Result<&mut ItemState, ModelError> {
        if self.items.len() >= MOST_ITEMS && !self.items.contains_key(&index) {
            return Err(broken("the answer has more than 1024 items"));
        }
        Ok(self.items.entry(index).or_default())
    }
}
