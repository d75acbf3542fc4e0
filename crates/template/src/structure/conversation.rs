//! Converts messages to and from values, which are stored in directives.

use quillet_core::{Map, Value, ValueList};

use super::message::{ChatMessage, MessagePart};

/// Converts a message to a value.
pub(super) fn write(message: &ChatMessage) -> Value {
    let parts: ValueList = message.parts.iter().map(write_part).collect();
    let pairs = [
        ("role", Value::from(message.role.as_str())),
        ("parts", Value::List(parts)),
        ("metadata", Value::Map(message.metadata.clone())),
    ];
    Value::Map(pairs.into_iter().collect())
}

fn write_part(part: &MessagePart) -> Value {
    let pairs: Vec<(&str, Value)> = match part {
        MessagePart::Text(text) => vec![("text", text.as_str().into())],
        MessagePart::Pending(metadata) => vec![("pending", Value::Map(metadata.clone()))],
        MessagePart::Media {
            kind,
            url,
            content_type,
        } => {
            let optional = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
            vec![
                ("media", url.as_str().into()),
                ("kind", optional(kind)),
                ("type", optional(content_type)),
            ]
        }
    };
    Value::Map(pairs.into_iter().collect())
}

/// Converts a value to a message.
pub(super) fn read(value: &Value) -> Option<ChatMessage> {
    let map = value.as_map()?;
    let Some(Value::List(parts)) = map.get("parts") else {
        return None;
    };
    let metadata = map.get("metadata").and_then(Value::as_map);
    Some(ChatMessage {
        role: map.get("role")?.as_str()?.to_owned(),
        parts: parts.iter().filter_map(read_part).collect(),
        metadata: metadata.cloned().unwrap_or_default(),
    })
}

fn read_part(value: &Value) -> Option<MessagePart> {
    let map = value.as_map()?;
    let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(text) = text("text") {
        return Some(MessagePart::Text(text));
    }
    if let Some(url) = text("media") {
        return Some(MessagePart::Media {
            kind: text("kind"),
            url,
            content_type: text("type"),
        });
    }
    let pending: &Map = map.get("pending")?.as_map()?;
    Some(MessagePart::Pending(pending.clone()))
}
