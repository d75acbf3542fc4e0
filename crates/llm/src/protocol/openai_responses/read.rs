//! Converts a request body into a request. An item without a complete neutral form is also stored
//! unchanged.

use quillet_core::chat::{ChatOptions, ChatRequest, ModelError, ModelErrorKind};
use quillet_core::message::MediaFile;
use quillet_core::{ContentPart, Message, MessageContent, NativeTurn, Role, ToolCall};
use serde_json::{Map, Value, json};

use super::item;
use crate::protocol::wire_name::OPENAI_RESPONSES as WIRE;

type JsonObject = Map<String, Value>;

pub(super) fn request(body: &Value) -> Result<ChatRequest, ModelError> {
    let body = body
        .as_object()
        .ok_or_else(|| refuse("the body must be a JSON object"))?;
    let mut messages = Vec::new();
    if let Some(text) = body.get("instructions").filter(|text| !text.is_null()) {
        let text = text
            .as_str()
            .ok_or_else(|| refuse("instructions: must be a string"))?;
        messages.push(Message::new(Role::System, text));
    }
    match body.get("input") {
        Some(Value::String(text)) => messages.push(Message::new(Role::User, text)),
        Some(Value::Array(items)) => messages.extend(conversation(items)?),
        _ => return Err(refuse("input: must be a string or a list of items")),
    }
    let model = body.get("model").filter(|model| !model.is_null());
    let model = model.map(|model| {
        let name = model.as_str().map(str::to_owned);
        name.ok_or_else(|| refuse("model: must be a string"))
    });
    Ok(ChatRequest {
        model: model.transpose()?,
        messages,
        options: options(body)?,
    })
}

/// Converts each item into one message; the items of a model turn become a single message.
fn conversation(items: &[Value]) -> Result<Vec<Message>, ModelError> {
    let mut messages: Vec<Message> = Vec::new();
    let mut turn: Vec<&Value> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let place = |cause: String| refuse(format!("input[{index}]: {cause}"));
        if !item.is_object() {
            return Err(place("must be an object".into()));
        }
        if is_of_turn(item) {
            turn.push(item);
            continue;
        }
        messages.extend(assistant(&std::mem::take(&mut turn)).map_err(place)?);
        messages.push(other(item).map_err(place)?);
    }
    let last = assistant(&turn).map_err(|cause| refuse(format!("input: {cause}")))?;
    messages.extend(last);
    Ok(messages)
}

fn kind_of(item: &Value) -> &str {
    item.get("type")
        .and_then(Value::as_str)
        .unwrap_or("message")
}

fn role_of(item: &Value) -> &str {
    item.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// Whether the model created the item. Other items have a role or answer a call.
fn is_of_turn(item: &Value) -> bool {
    match kind_of(item) {
        "message" => role_of(item) == "assistant",
        kind => !kind.ends_with("_output") && !kind.ends_with("_response"),
    }
}

fn assistant(items: &[&Value]) -> Result<Option<Message>, String> {
    if items.is_empty() {
        return Ok(None);
    }
    let mut message = Message::new(Role::Assistant, "");
    let (mut text, mut reasoning) = (String::new(), Vec::new());
    for item in items {
        match kind_of(item) {
            "message" => text.push_str(&content(item.get("content"))?.to_string()),
            "function_call" => message.tool_calls.push(call(item)?),
            "reasoning" => {
                let parts = item.get("summary").and_then(Value::as_array);
                let texts = parts
                    .into_iter()
                    .flatten()
                    .filter_map(|part| part.get("text"));
                reasoning.extend(texts.filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {}
        }
    }
    message.content = text.into();
    message.reasoning = Some(reasoning.join("\n\n")).filter(|text| !text.is_empty());
    let items = items.iter().map(|item| (*item).clone()).collect();
    Ok(Some(with_words(message, items)))
}

fn other(item: &Value) -> Result<Message, String> {
    let message = match kind_of(item) {
        "message" => {
            let role = role_of(item);
            let role = Role::parse(role).ok_or_else(|| {
                format!(
                    "role: unknown role {role:?}, expected system, developer, user or assistant"
                )
            })?;
            Message::new(role, content(item.get("content"))?)
        }
        "function_call_output" => {
            let id = item.get("call_id").and_then(Value::as_str);
            let id = id.ok_or("call_id: missing, must be the id of the call")?;
            Message::tool(id, content(item.get("output"))?)
        }
        // The item is a result of a built-in tool, which only the provider can interpret.
        _ => Message::new(Role::User, ""),
    };
    Ok(with_words(message, vec![item.clone()]))
}

/// Adds the native items if the conversion would lose information.
fn with_words(mut message: Message, items: Vec<Value>) -> Message {
    let is_instruction = message.role == Role::System;
    if is_instruction || item::items(&message).is_ok_and(|written| written != items) {
        message.native = Some(NativeTurn {
            wire: WIRE.to_owned(),
            model: None,
            content: Value::Array(items),
        });
    }
    message
}

fn call(item: &Value) -> Result<ToolCall, String> {
    let text = |name: &str| {
        let text = item.get(name).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| format!("{name}: missing in a call"))
    };
    Ok(ToolCall {
        id: text("call_id")?,
        name: text("name")?,
        arguments: text("arguments")?,
    })
}

fn content(given: Option<&Value>) -> Result<MessageContent, String> {
    match given {
        None | Some(Value::Null) => Ok(MessageContent::default()),
        Some(Value::String(text)) => Ok(text.into()),
        Some(Value::Array(parts)) => {
            let parts: Result<Vec<_>, _> = parts.iter().map(part).collect();
            Ok(parts?.into())
        }
        Some(_) => Err("content: must be a string or a list of parts".into()),
    }
}

fn part(given: &Value) -> Result<ContentPart, String> {
    let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = text("type").unwrap_or_default();
    match kind.as_str() {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            Ok(ContentPart::text(text("text").unwrap_or_default()))
        }
        "refusal" => Ok(ContentPart::text(text("refusal").unwrap_or_default())),
        "input_image" => match text("image_url") {
            Some(url) => {
                let image_url = json!({"url": url, "detail": given.get("detail")});
                let part = json!({"type": "image_url", "image_url": image_url});
                serde_json::from_value(part).map_err(|error| error.to_string())
            }
            None => Ok(file(None, None, text("file_id"))),
        },
        "input_file" => Ok(file(
            text("filename"),
            text("file_data").or_else(|| text("file_url")),
            text("file_id"),
        )),
        "input_audio" => serde_json::from_value(given.clone()).map_err(|error| error.to_string()),
        kind => Err(format!(
            "content: unknown type {kind:?}, expected input_text, input_image, input_file, input_audio, output_text or refusal"
        )),
    }
}

fn file(filename: Option<String>, data: Option<String>, id: Option<String>) -> ContentPart {
    ContentPart::File {
        file: MediaFile {
            filename,
            file_data: data,
            file_id: id,
        },
    }
}

/// Returns all members except the conversation in the format of Chat Completions; `null` members
/// are omitted.
fn options(body: &JsonObject) -> Result<ChatOptions, ModelError> {
    let not_ours = ["model", "input", "instructions", "stream", "stream_options"];
    let mut rest: JsonObject = body
        .iter()
        .filter(|(key, value)| !value.is_null() && !not_ours.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let moves = [
        ("reasoning", "effort", "reasoning_effort"),
        ("text", "format", "response_format"),
    ];
    for (outer, inner, name) in moves {
        if let Some(value) = take_inside(&mut rest, outer, inner) {
            rest.insert(name.into(), nested(value, "json_schema"));
        }
    }
    if let Some(limit) = rest.remove("max_output_tokens") {
        rest.insert("max_tokens".into(), limit);
    }
    for tool in rest
        .get_mut("tools")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        *tool = nested(tool.take(), "function");
    }
    if let Some(choice) = rest.remove("tool_choice") {
        rest.insert("tool_choice".into(), nested(choice, "function"));
    }
    let options = serde_json::from_value(Value::Object(rest.clone()));
    options.map_err(|error| {
        let wrong = rest.iter().find_map(|(key, value)| {
            let alone = json!({ key.as_str(): value });
            let error = serde_json::from_value::<ChatOptions>(alone).err()?;
            Some(refuse(format!("{key}: {error}")))
        });
        wrong.unwrap_or_else(|| refuse(error.to_string()))
    })
}

/// Removes the inner member, and also the outer one if it is then empty.
fn take_inside(body: &mut JsonObject, outer: &str, inner: &str) -> Option<Value> {
    let member = body.get_mut(outer)?.as_object_mut()?;
    let value = member.remove(inner)?;
    if member.is_empty() {
        body.remove(outer);
    }
    Some(value)
}

/// Converts the flat form of this API into the nested form of Chat Completions.
fn nested(given: Value, kind: &str) -> Value {
    if given.get("type").and_then(Value::as_str) != Some(kind) {
        return given;
    }
    let Value::Object(mut members) = given else {
        return Value::Null;
    };
    members.remove("type");
    json!({"type": kind, kind: members})
}

fn refuse(cause: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Refused, cause.into())
}
