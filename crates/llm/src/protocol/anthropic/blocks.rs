//! Conversion between messages and content blocks.

use quillet_core::chat::ModelError;
use quillet_core::message::{MediaFile, MediaUrl};
use quillet_core::{ContentPart, Message, MessageContent, NativeTurn, Role, ToolCall};
use serde_json::{Map, Value, json};

use crate::protocol::call_id;
use crate::protocol::data_url::DataUrl;
use crate::protocol::wire_name::ANTHROPIC as WIRE;
use crate::protocol::{native, unsupported};

/// Returns the content blocks of the message at this index of the conversation: its native blocks
/// if it has any, or otherwise the converted content.
pub(super) fn write(message: &Message, at: usize) -> Result<Vec<Value>, ModelError> {
    match native(message, WIRE) {
        Some(blocks) => Ok(blocks
            .iter()
            .filter(|block| !is_blank(block))
            .cloned()
            .collect()),
        None => plain(message, at),
    }
}

/// Models sometimes write empty text blocks, but the API rejects them in requests.
fn is_blank(block: &Value) -> bool {
    kind(block) == "text" && string(block, "text").trim().is_empty()
}

/// Converts a message into blocks. Reasoning is omitted, because the API accepts it only with its
/// signature.
pub(super) fn plain(message: &Message, at: usize) -> Result<Vec<Value>, ModelError> {
    let content = write_content(&message.content, at)?;
    if message.role == Role::Tool {
        return Ok(vec![write_result(message, content)]);
    }
    let calls = message.tool_calls.iter().map(write_call);
    Ok(content.into_iter().chain(calls).collect())
}

fn write_content(content: &MessageContent, at: usize) -> Result<Vec<Value>, ModelError> {
    let parts = match content {
        MessageContent::Text(text) => return Ok(write_text(text).into_iter().collect()),
        MessageContent::Parts(parts) => parts,
    };
    let mut blocks = Vec::with_capacity(parts.len());
    for (number, part) in parts.iter().enumerate() {
        let refuse = |cause: &str| unsupported(&format!("messages[{at}].content[{number}]"), cause);
        blocks.extend(write_part(part).map_err(refuse)?);
    }
    Ok(blocks)
}

/// The API rejects empty text blocks, so they are omitted.
fn write_text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn write_part(part: &ContentPart) -> Result<Option<Value>, &'static str> {
    match part {
        ContentPart::Text { text } => Ok(write_text(text)),
        ContentPart::ImageUrl { image_url } => Ok(Some(write_image(&image_url.url))),
        ContentPart::File { file } => write_file(file).map(Some),
        ContentPart::AudioUrl { .. } | ContentPart::InputAudio { .. } => {
            Err("anthropic does not accept audio; send a transcript as text")
        }
    }
}

fn write_image(url: &str) -> Value {
    let source = match DataUrl::parse(url) {
        Some(data) => base64_source(&data),
        None => json!({"type": "url", "url": url}),
    };
    json!({"type": "image", "source": source})
}

fn base64_source(data: &DataUrl<'_>) -> Value {
    json!({"type": "base64", "media_type": data.media_type, "data": data.base64})
}

fn write_file(file: &MediaFile) -> Result<Value, &'static str> {
    let source = match (&file.file_id, &file.file_data) {
        (Some(id), _) => json!({"type": "file", "file_id": id}),
        (None, None) => return Err("the file has neither file_data nor file_id"),
        (None, Some(url)) => match DataUrl::parse(url) {
            None => json!({"type": "url", "url": url}),
            Some(data) if data.media_type.starts_with("image/") => return Ok(write_image(url)),
            Some(data) if data.media_type.starts_with("text/") => {
                let text = data
                    .text()
                    .ok_or("the file is not UTF-8 text, although its type is a text type")?;
                json!({"type": "text", "media_type": "text/plain", "data": text})
            }
            Some(data) if data.media_type == "application/pdf" => base64_source(&data),
            Some(_) => {
                return Err(
                    "anthropic accepts only files of type application/pdf, text/… and image/…; send its text",
                );
            }
        },
    };
    let mut block = json!({"type": "document", "source": source});
    if let Some(name) = &file.filename {
        block["title"] = json!(name);
    }
    Ok(block)
}

fn write_call(call: &ToolCall) -> Value {
    // `input` must be an object, even if the model wrote invalid arguments.
    let input = call.arguments_object();
    let input = input.map_or_else(|| json!({"unparsed": call.arguments}), Value::Object);
    json!({"type": "tool_use", "id": wire_id(&call.id), "name": call.name, "input": input})
}

fn write_result(message: &Message, content: Vec<Value>) -> Value {
    let id = wire_id(message.tool_call_id.as_deref().unwrap_or_default());
    let mut block = json!({"type": "tool_result", "tool_use_id": id});
    if !content.is_empty() {
        block["content"] = content.into();
    }
    if message.is_error {
        block["is_error"] = true.into();
    }
    block
}

/// Returns an id that the API accepts (`^[a-zA-Z0-9_-]+$`). Ids of other providers are always
/// replaced in the same way, so calls and results still match.
fn wire_id(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !id.is_empty() && id.chars().all(fits) {
        return id.to_owned();
    }
    let kept: String = id.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    // The digest distinguishes ids that become equal in the line above.
    format!("{kept}_{}", call_id::digest(id, 12))
}

/// Converts the blocks of a turn into messages; each tool result becomes a separate message.
pub(super) fn read(role: Role, blocks: Vec<Value>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut rest = Vec::new();
    for block in blocks {
        match kind(&block) {
            "tool_result" if role == Role::User => {
                messages.extend(read_group(role, std::mem::take(&mut rest)));
                messages.push(keep(read_result(&block), vec![block]));
            }
            _ => rest.push(block),
        }
    }
    messages.extend(read_group(role, rest));
    messages
}

/// Converts an instruction between turns. Its native blocks record its position.
pub(super) fn read_instruction(blocks: Vec<Value>) -> Message {
    let parts: Vec<ContentPart> = blocks.iter().filter_map(read_part).collect();
    Message {
        native: Some(own(blocks)),
        ..Message::new(Role::System, parts)
    }
}

fn own(blocks: Vec<Value>) -> NativeTurn {
    NativeTurn {
        wire: WIRE.to_owned(),
        model: None,
        content: blocks.into(),
    }
}

fn read_group(role: Role, blocks: Vec<Value>) -> Option<Message> {
    if blocks.is_empty() {
        return None;
    }
    let parts: Vec<ContentPart> = blocks.iter().filter_map(read_part).collect();
    let mut message = Message::new(role, parts);
    for block in blocks.iter().filter(|_| role == Role::Assistant) {
        match kind(block) {
            "tool_use" => message.tool_calls.push(read_call(block)),
            "thinking" => message
                .reasoning
                .get_or_insert_default()
                .push_str(string(block, "thinking")),
            _ => {}
        }
    }
    Some(keep(message, blocks))
}

/// Stores the native blocks with the message if converting them back would lose information.
fn keep(mut message: Message, blocks: Vec<Value>) -> Message {
    if !plain(&message, 0).is_ok_and(|plain| plain == blocks) {
        message.native = Some(own(blocks));
    }
    message
}

fn read_call(block: &Value) -> ToolCall {
    ToolCall {
        id: string(block, "id").to_owned(),
        name: string(block, "name").to_owned(),
        arguments: block.get("input").map(Value::to_string).unwrap_or_default(),
    }
}

fn read_result(block: &Value) -> Message {
    let parts = match block.get("content") {
        Some(Value::String(text)) => vec![ContentPart::text(text)],
        Some(Value::Array(blocks)) => blocks.iter().filter_map(read_part).collect(),
        _ => Vec::new(),
    };
    let mut message = Message::tool(string(block, "tool_use_id"), parts);
    message.is_error = block.get("is_error") == Some(&Value::Bool(true));
    message
}

/// Returns `None` for blocks without a neutral form; they are preserved in the native blocks.
fn read_part(block: &Value) -> Option<ContentPart> {
    match kind(block) {
        "text" => Some(ContentPart::text(string(block, "text"))),
        "image" => {
            let url = read_source(block.get("source")?)?;
            Some(ContentPart::ImageUrl {
                image_url: MediaUrl { url, detail: None },
            })
        }
        "document" => {
            let source = block.get("source")?;
            let text =
                |value: &Value, key| value.get(key).and_then(Value::as_str).map(str::to_owned);
            let file = MediaFile {
                filename: text(block, "title"),
                file_data: read_source(source),
                file_id: text(source, "file_id"),
            };
            Some(ContentPart::File { file })
        }
        _ => None,
    }
}

fn read_source(source: &Value) -> Option<String> {
    let media_type = string(source, "media_type");
    match kind(source) {
        "base64" => Some(DataUrl::write(media_type, string(source, "data"))),
        "text" => Some(DataUrl::write_text(media_type, string(source, "data"))),
        "url" => Some(string(source, "url").to_owned()),
        _ => None,
    }
}

/// Returns the blocks of a `content` member, which may also be a plain text.
pub(super) fn read_list(content: Option<&Value>) -> Option<Vec<Value>> {
    match content? {
        Value::String(text) => Some(vec![json!({"type": "text", "text": text})]),
        Value::Array(blocks) if blocks.iter().all(Value::is_object) => {
            Some(blocks.iter().map(without_nulls).collect())
        }
        _ => None,
    }
}

/// Removes null members, which are equivalent to missing ones.
fn without_nulls(block: &Value) -> Value {
    let Value::Object(members) = block else {
        return block.clone();
    };
    let members = members.iter().filter(|(_, value)| !value.is_null());
    let members: Map<String, Value> = members
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Value::Object(members)
}

pub(super) fn kind(block: &Value) -> &str {
    string(block, "type")
}

fn string<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
