//! Converts messages without native items into input items.

use std::borrow::Cow;

use quillet_core::{ContentPart, Message, MessageContent, Role};
use serde_json::{Value, json};

use crate::protocol::call_id;

/// Returns the items of a message. Reasoning is omitted, because the API accepts it only in
/// encrypted form.
///
/// # Errors
/// The API cannot express a part of the message.
pub(super) fn items(message: &Message) -> Result<Vec<Value>, String> {
    if message.role == Role::Tool {
        let id = message
            .tool_call_id
            .as_deref()
            .ok_or("a tool result has no call id: set tool_call_id")?;
        return Ok(vec![json!({
            "type": "function_call_output",
            "call_id": acceptable(id),
            "output": content(message)?,
        })]);
    }
    let mut items = Vec::new();
    let is_empty = matches!(&message.content, MessageContent::Text(text) if text.is_empty());
    if !is_empty || message.tool_calls.is_empty() {
        items.push(json!({
            "type": "message",
            "role": message.role.as_str(),
            "content": content(message)?,
        }));
    }
    items.extend(message.tool_calls.iter().map(|call| {
        let arguments = match call.arguments.trim() {
            "" => "{}",
            _ => &call.arguments,
        };
        json!({
            "type": "function_call",
            "call_id": acceptable(&call.id),
            "name": call.name,
            "arguments": arguments,
        })
    }));
    Ok(items)
}

/// The API limits call ids to 64 bytes.
fn acceptable(id: &str) -> Cow<'_, str> {
    match id.len() {
        1..=64 => Cow::Borrowed(id),
        _ => Cow::Owned(format!("call_{}", call_id::digest(id, 24))),
    }
}

fn content(message: &Message) -> Result<Value, String> {
    match &message.content {
        MessageContent::Text(text) => Ok(json!(text)),
        MessageContent::Parts(parts) => {
            let written = parts.iter().map(|part| self::part(message.role, part));
            written.collect()
        }
    }
}

fn part(role: Role, part: &ContentPart) -> Result<Value, String> {
    Ok(match part {
        ContentPart::Text { text } if role == Role::Assistant => {
            json!({"type": "output_text", "text": text})
        }
        ContentPart::Text { text } => json!({"type": "input_text", "text": text}),
        ContentPart::ImageUrl { image_url } => match &image_url.detail {
            Some(detail) => {
                json!({"type": "input_image", "image_url": image_url.url, "detail": detail})
            }
            None => json!({"type": "input_image", "image_url": image_url.url}),
        },
        ContentPart::InputAudio { input_audio } => {
            json!({"type": "input_audio", "input_audio": input_audio})
        }
        ContentPart::AudioUrl { .. } => {
            return Err(
                "the Responses API does not accept audio by URL: send it as input_audio".into(),
            );
        }
        ContentPart::File { file } => {
            let mut written = json!({"type": "input_file"});
            let address = file.file_data.as_deref();
            let is_address = address.is_some_and(|at| at.starts_with("http"));
            let data = if is_address { "file_url" } else { "file_data" };
            let members = [
                ("filename", &file.filename),
                (data, &file.file_data),
                ("file_id", &file.file_id),
            ];
            for (name, value) in members {
                if let Some(value) = value {
                    written[name] = json!(value);
                }
            }
            written
        }
    })
}
