//! Converts a request body into a request. Members without a neutral form are stored with their
//! message, so encoding the request loses nothing.

use quillet_core::chat::{ChatOptions, ChatRequest, ModelError, ModelErrorKind};
use quillet_core::message::MediaFile;
use quillet_core::{ContentPart, Message, MessageContent, NativeTurn, Role};
use serde_json::{Map, Value, json};

use crate::protocol::wire_name::OPENAI_CHAT as WIRE;

type JsonObject = Map<String, Value>;

pub(super) fn request(body: &Value) -> Result<ChatRequest, ModelError> {
    let body = body
        .as_object()
        .ok_or_else(|| refuse("the body must be a JSON object"))?;
    let messages = body
        .get("messages")
        .and_then(Value::as_array)
        .ok_or_else(|| refuse("messages: must be a list of messages"))?;
    let read = |(index, given): (usize, &Value)| {
        message(given).map_err(|cause| refuse(format!("messages[{index}]: {cause}")))
    };
    let model = body.get("model").filter(|model| !model.is_null());
    let model = model.map(|model| {
        let name = model.as_str().map(str::to_owned);
        name.ok_or_else(|| refuse("model: must be a string"))
    });
    Ok(ChatRequest {
        model: model.transpose()?,
        messages: messages
            .iter()
            .enumerate()
            .map(read)
            .collect::<Result<_, _>>()?,
        options: options(body)?,
    })
}

/// Returns all members except the conversation; `null` members are omitted.
fn options(body: &JsonObject) -> Result<ChatOptions, ModelError> {
    let not_ours = ["model", "messages", "stream", "stream_options"];
    let mut rest: JsonObject = body
        .iter()
        .filter(|(key, value)| !value.is_null() && !not_ours.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    // The newer name takes precedence if both are set.
    if let Some(limit) = rest.remove("max_completion_tokens") {
        rest.insert("max_tokens".into(), limit);
    }
    match serde_json::from_value(Value::Object(rest.clone())) {
        Ok(options) => Ok(options),
        Err(error) => Err(misplaced(&rest, &error.to_string())),
    }
}

/// Adds the invalid member to the error, because serde does not report it for a flattened struct.
fn misplaced(members: &JsonObject, cause: &str) -> ModelError {
    let wrong = members.iter().find_map(|(key, value)| {
        let alone = json!({ key.as_str(): value });
        let error = serde_json::from_value::<ChatOptions>(alone).err()?;
        Some(refuse(format!("{key}: {error}")))
    });
    wrong.unwrap_or_else(|| refuse(cause))
}

fn message(given: &Value) -> Result<Message, String> {
    let given = given.as_object().ok_or("must be an object")?;
    let role = given
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let role = Role::parse(role).ok_or_else(|| {
        format!("role: unknown role {role:?}, expected system, developer, user, assistant or tool")
    })?;
    let mut beside = JsonObject::new();
    let mut plain = JsonObject::new();
    for (key, value) in given {
        match key.as_str() {
            "content" => {
                plain.insert(key.clone(), content(value, &mut beside)?);
            }
            "role" | "name" | "tool_call_id" if !value.is_null() => {
                plain.insert(key.clone(), value.clone());
            }
            "tool_calls" if !value.is_null() => {
                calls(value, &mut beside);
                plain.insert(key.clone(), value.clone());
            }
            // Sent back unchanged, regardless of the setting for a model's own reasoning.
            "reasoning_content" if value.is_string() => {
                plain.insert(key.clone(), value.clone());
                beside.insert(key.clone(), value.clone());
            }
            _ if value.is_null() => {}
            _ => {
                beside.insert(key.clone(), value.clone());
            }
        }
    }
    let mut message: Message =
        serde_json::from_value(Value::Object(plain)).map_err(|error| error.to_string())?;
    message.role = role;
    if role == Role::Tool
        && has_media(&message.content)
        && let Some(content) = given.get("content")
    {
        // Some servers accept images in tool results and others only from users; the client's
        // choice is preserved.
        beside.insert("content".into(), content.clone());
    }
    message.native = (!beside.is_empty()).then(|| NativeTurn {
        wire: WIRE.to_owned(),
        model: None,
        content: Value::Object(beside),
    });
    Ok(message)
}

fn has_media(content: &MessageContent) -> bool {
    let is_media = |part: &ContentPart| !matches!(part, ContentPart::Text { .. });
    matches!(content, MessageContent::Parts(parts) if parts.iter().any(is_media))
}

/// Converts the content into neutral parts. If that loses information, the original content is also
/// stored.
fn content(given: &Value, beside: &mut JsonObject) -> Result<Value, String> {
    let Some(parts) = given.as_array() else {
        return Ok(given.clone());
    };
    let known: Result<Vec<ContentPart>, String> = parts.iter().map(part).collect();
    let known = serde_json::to_value(known?).map_err(|error| error.to_string())?;
    if &known != given {
        beside.insert("content".into(), given.clone());
    }
    Ok(known)
}

fn part(given: &Value) -> Result<ContentPart, String> {
    let known = serde_json::from_value::<ContentPart>(given.clone());
    let Err(error) = known else {
        return known.map_err(|error| error.to_string());
    };
    let kind = given
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match kind {
        // Refusals (OpenAI) and thinking (Mistral) are not part of the text of the conversation.
        "refusal" => Ok(ContentPart::text(
            given.get("refusal").and_then(text).unwrap_or_default(),
        )),
        "thinking" => Ok(ContentPart::text("")),
        // OpenRouter and Mistral add these parts, which contain a URL.
        "video_url" | "document_url" => {
            let address = given.get(kind).unwrap_or(&Value::Null);
            let url = address.get("url").unwrap_or(address);
            let url = text(url).ok_or_else(|| format!("content: {kind} has no address"))?;
            Ok(ContentPart::File {
                file: MediaFile {
                    filename: given.get("document_name").and_then(text),
                    file_data: Some(url),
                    file_id: None,
                },
            })
        }
        _ => Err(format!("content: {error}")),
    }
}

/// Stores members of calls without a neutral form (Gemini's signatures in `extra_content`), in the
/// order of the calls.
fn calls(given: &Value, beside: &mut JsonObject) {
    let extra = |call: &Value| {
        let members = call.as_object().into_iter().flatten();
        let unknown = members.filter(|(key, value)| {
            let is_known = matches!(key.as_str(), "id" | "type" | "function" | "index");
            !is_known && !value.is_null()
        });
        unknown
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<JsonObject>()
    };
    let extras: Vec<JsonObject> = given.as_array().into_iter().flatten().map(extra).collect();
    if extras.iter().any(|extra| !extra.is_empty()) {
        beside.insert("tool_calls".into(), json!(extras));
    }
}

fn refuse(cause: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Refused, cause.into())
}
