//! `replies:` of a fixture: the answers of the scripted model.

use std::sync::Arc;

use quillet_core::chat::FinishReason;
use quillet_core::{Diagnostic, ToolCall, Value, json, nearest};
use quillet_yaml::{Node, NodeData};

use super::expected_value::text_of;
use super::fixture::Reply;
use super::pattern::TextPattern;
use crate::syntax::ScriptSource;

pub(super) const KEYS: [&str; 6] = [
    "match",
    "reply",
    "finish",
    "tool_calls",
    "thinking",
    "error",
];
const FINISHES: [(&str, FinishReason); 4] = [
    ("stop", FinishReason::Stop),
    ("length", FinishReason::Length),
    ("tool_calls", FinishReason::ToolCalls),
    ("content_filter", FinishReason::ContentFilter),
];

/// Reads a list of answers, or a single one.
pub(super) fn read(
    source: &ScriptSource,
    node: &Node,
    found: &mut Vec<Diagnostic>,
) -> Arc<[Reply]> {
    let items = match &node.data {
        NodeData::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut reader = ReplyReader { source, found };
    items.iter().map(|item| reader.reply(item)).collect()
}

struct ReplyReader<'a> {
    source: &'a ScriptSource,
    found: &'a mut Vec<Diagnostic>,
}

impl ReplyReader<'_> {
    fn error(&mut self, message: impl Into<String>, node: &Node) {
        let found = self.source.error("test.replies", message, node.span);
        self.found.push(found);
    }

    /// Reads an answer: a text, an object with the keys of a reply, or any other value, which is
    /// sent as JSON.
    fn reply(&mut self, node: &Node) -> Reply {
        let entries = node.entries().unwrap_or_default();
        let is_described = entries.iter().any(|entry| KEYS.contains(&entry.name()));
        if !is_described {
            return Reply {
                text: text_of(&node.value()),
                ..Reply::default()
            };
        }
        let mut reply = Reply::default();
        for entry in entries {
            let value = &entry.value;
            match entry.name() {
                "match" => reply.when = self.pattern(value),
                "reply" => reply.text = text_of(&value.value()),
                "thinking" => reply.thinking = text_of(&value.value()),
                "error" => reply.error = Some(text_of(&value.value())),
                "finish" => reply.finish = self.finish(value),
                "tool_calls" => reply.tool_calls = self.calls(value),
                other => {
                    let near = nearest(other, KEYS);
                    let hint =
                        near.map_or_else(String::new, |near| format!(": did you mean {near}?"));
                    self.error(format!("unknown key {other} of a reply{hint}"), &entry.key);
                }
            }
        }
        reply
    }

    fn pattern(&mut self, node: &Node) -> Option<TextPattern> {
        let text = node.text().unwrap_or_default();
        match TextPattern::dotted(text) {
            Ok(pattern) => Some(pattern),
            Err(why) => {
                self.error(why, node);
                None
            }
        }
    }

    fn finish(&mut self, node: &Node) -> Option<FinishReason> {
        let name = node.text().unwrap_or_default();
        let known = FINISHES.iter().find(|(known, _)| *known == name);
        if known.is_none() {
            let names = FINISHES.map(|(name, _)| name).join(", ");
            self.error(format!("finish must be one of {names}, not {name:?}"), node);
        }
        known.map(|(_, finish)| *finish)
    }

    fn calls(&mut self, node: &Node) -> Vec<ToolCall> {
        let items = match node.items() {
            Some(items) => items,
            None => std::slice::from_ref(node),
        };
        let calls = (1..).zip(items);
        calls
            .filter_map(|(number, item)| self.call(number, item))
            .collect()
    }

    fn call(&mut self, number: usize, node: &Node) -> Option<ToolCall> {
        let name = node
            .get("name")
            .and_then(Node::text)
            .or_else(|| node.text());
        if name.is_none() {
            self.error("a call must have a name, and args: for its arguments", node);
        }
        let arguments = node.get("args").or_else(|| node.get("arguments"));
        let arguments = match arguments.map(Node::value) {
            // Tool arguments are always a JSON object, so a call without arguments has an empty
            // one.
            None | Some(Value::Null) => "{}".to_owned(),
            Some(Value::Str(text)) => text.to_string(),
            Some(value) => json::to_string(&value),
        };
        Some(ToolCall {
            id: format!("call_{number}"),
            name: name?.to_owned(),
            arguments,
        })
    }
}
