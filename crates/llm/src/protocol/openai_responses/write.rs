//! Encodes request bodies.

use quillet_core::chat::{
    ChatOptions, ChatRequest, ModelError, ModelErrorKind, ToolChoice, ToolOffer,
};
use quillet_core::{Message, MessageContent, Role};
use serde_json::{Map, Value, json};

use super::item;
use crate::protocol::wire_name::OPENAI_RESPONSES as WIRE;

type JsonObject = Map<String, Value>;

pub(super) fn body(model: &str, request: &ChatRequest) -> Result<Value, ModelError> {
    let mut body = JsonObject::new();
    body.insert("model".into(), model.into());
    let mut messages = request.messages.iter().enumerate().peekable();
    if let Some(text) = messages.peek().and_then(|(_, first)| instructions(first)) {
        body.insert("instructions".into(), text.into());
        messages.next();
    }
    let mut input = Vec::new();
    for (index, message) in messages {
        let items =
            items(model, message).map_err(|cause| refuse(format!("messages[{index}]: {cause}")))?;
        input.extend(items);
    }
    body.insert("input".into(), input.into());
    options(model, &request.options, &mut body)?;
    body.insert("stream".into(), true.into());
    Ok(Value::Object(body))
}

/// Returns the first message, if it can be sent as `instructions`.
fn instructions(first: &Message) -> Option<&str> {
    match &first.content {
        MessageContent::Text(text) if first.role == Role::System && first.native.is_none() => {
            Some(text)
        }
        _ => None,
    }
}

/// Returns the native items of a message, or the converted ones.
fn items(model: &str, message: &Message) -> Result<Vec<Value>, String> {
    let native = message.native.as_ref().filter(|native| {
        // Encrypted reasoning is bound to the model that wrote it.
        native.wire == WIRE && native.model.as_deref().is_none_or(|bound| bound == model)
    });
    match native.and_then(|native| native.content.as_array()) {
        Some(items) => Ok(items.clone()),
        None => item::items(message),
    }
}

fn options(model: &str, options: &ChatOptions, body: &mut JsonObject) -> Result<(), ModelError> {
    if options.n.is_some_and(|n| n > 1) {
        return Err(refuse(
            "n: the Responses API returns one answer per request".into(),
        ));
    }
    if options.stop.is_some() {
        return Err(refuse(
            "stop: the Responses API has no stop sequences".into(),
        ));
    }
    body.extend(options.extra.clone());
    let plain = [
        ("temperature", options.temperature.map(|value| json!(value))),
        ("top_p", options.top_p.map(|value| json!(value))),
        (
            "max_output_tokens",
            options.max_tokens.map(|value| json!(value)),
        ),
        ("user", options.user.as_ref().map(|value| json!(value))),
        (
            "parallel_tool_calls",
            options.parallel_tool_calls.map(|value| json!(value)),
        ),
        ("tool_choice", options.tool_choice.as_ref().map(choice)),
    ];
    for (name, value) in plain {
        if let Some(value) = value {
            body.insert(name.into(), value);
        }
    }
    let tools: Vec<Value> = options.tools.iter().filter_map(tool).collect();
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    if let Some(effort) = &options.reasoning_effort {
        set_inside(body, "reasoning", "effort", json!(effort));
    }
    if let Some(format) = options.response_format.as_ref() {
        set_inside(body, "text", "format", flat(format, "json_schema"));
    }
    keep_nothing(model, body);
    Ok(())
}

/// Sets an inner member; the outer one is created if it is missing.
fn set_inside(body: &mut JsonObject, outer: &str, inner: &str, value: Value) {
    let member = body.entry(outer).or_insert_with(|| json!({}));
    if let Some(member) = member.as_object_mut() {
        member.insert(inner.into(), value);
    }
}

/// Disables storage at the provider, and therefore requests the encrypted reasoning.
fn keep_nothing(model: &str, body: &mut JsonObject) {
    let is_ours = !body.contains_key("store");
    if is_ours && !body.contains_key("previous_response_id") {
        body.insert("store".into(), false.into());
    }
    let is_stored = body.get("store").is_none_or(|store| store == true);
    if !is_stored && !body.contains_key("include") && reasons(model, body) {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
}

/// Whether the model supports reasoning; OpenAI rejects the request for encrypted reasoning from
/// other models.
fn reasons(model: &str, body: &JsonObject) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let families = ["gpt-5", "gpt-6", "o1", "o3", "o4", "codex", "grok-4"];
    let chats = name.contains("-chat");
    body.contains_key("reasoning")
        || (!chats && families.iter().any(|family| name.starts_with(family)))
}

/// Converts the nested form of Chat Completions into the flat form of this API.
fn flat(given: &Value, kind: &str) -> Value {
    let Some(inner) = given.get(kind).and_then(Value::as_object) else {
        return given.clone();
    };
    let mut written = JsonObject::new();
    written.insert("type".into(), kind.into());
    written.extend(inner.clone());
    Value::Object(written)
}

/// Converts a tool. Native tools of other providers are omitted: Gemini's have no type, and
/// Anthropic's types end in a date.
fn tool(tool: &ToolOffer) -> Option<Value> {
    let written = serde_json::to_value(tool).ok()?;
    let kind = written.get("type").and_then(Value::as_str)?;
    let last = kind.rsplit('_').next().unwrap_or_default();
    if last.len() == 8 && last.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut flat = flat(&written, kind);
    let beside = written.as_object().into_iter().flatten();
    for (key, value) in beside.filter(|(key, _)| *key != "type" && *key != kind) {
        flat[key.as_str()] = value.clone();
    }
    Some(flat)
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Named(name) => json!({"type": "function", "name": name}),
        other => serde_json::to_value(other).unwrap_or_else(|_| json!("auto")),
    }
}

fn refuse(cause: String) -> ModelError {
    ModelError::new(ModelErrorKind::Refused, cause)
}
