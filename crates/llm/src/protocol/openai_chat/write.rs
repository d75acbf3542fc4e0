//! Encodes request bodies.

use std::collections::HashSet;

use quillet_core::chat::{ChatOptions, ChatRequest, ModelError, ModelErrorKind, ToolOffer};
use quillet_core::{ContentPart, Message, MessageContent, Role, ToolCall};
use serde_json::{Map, Value, json};

use super::dialect::{CallIds, OpenAiChat, ReasoningEcho, TokenField};
use crate::protocol::call_id;
use crate::protocol::wire_name::OPENAI_CHAT as WIRE;

type JsonObject = Map<String, Value>;

pub(super) fn body(
    wire: &OpenAiChat,
    model: &str,
    request: &ChatRequest,
) -> Result<Value, ModelError> {
    let mut body = JsonObject::new();
    body.insert("model".into(), model.into());
    body.insert("messages".into(), messages(wire, model, &request.messages)?);
    options(wire, model, &request.options, &mut body)?;
    let whole = wants_whole(&request.options);
    body.insert("stream".into(), (!whole).into());
    if whole {
        // OpenAI rejects `stream_options` without streaming.
        body.remove("stream_options");
    } else if wire.include_usage {
        let options = body.entry("stream_options").or_insert_with(|| json!({}));
        if let Some(options) = options.as_object_mut() {
            options.insert("include_usage".into(), true.into());
        }
    }
    Ok(Value::Object(body))
}

/// Whether the caller requested an unstreamed answer. The native member `stream` of this API says
/// so; other APIs always stream.
fn wants_whole(options: &ChatOptions) -> bool {
    options.extra.get("stream") == Some(&Value::Bool(false))
}

/// Adds all members except the conversation. Members of `extra` are copied, unless this module sets
/// them.
fn options(
    wire: &OpenAiChat,
    model: &str,
    options: &ChatOptions,
    body: &mut JsonObject,
) -> Result<(), ModelError> {
    let written = serde_json::to_value(options).map_err(|error| refuse(error.to_string()))?;
    let Value::Object(written) = written else {
        return Ok(());
    };
    for (key, value) in written {
        match key.as_str() {
            "model" | "messages" | "stream" | "tools" => {}
            // A request in the Responses API may set this option, which the Chat API does not
            // support.
            "text" => {}
            "reasoning" if is_summary(&value) => {}
            "max_tokens" if sends_completion_tokens(wire.token_field, model) => {
                body.insert("max_completion_tokens".into(), value);
            }
            _ => {
                body.insert(key, value);
            }
        }
    }
    let given = options.extra.get("tools").cloned();
    let tools: Vec<Value> = options
        .tools
        .iter()
        .filter(|tool| is_ours(tool))
        .filter_map(|tool| serde_json::to_value(tool).ok())
        .collect();
    if let Some(tools) = Some(Value::Array(tools))
        .filter(|tools| tools != &json!([]))
        .or(given)
    {
        body.insert("tools".into(), tools);
    }
    Ok(())
}

/// Whether `reasoning` only configures summaries, which this API does not support. Other members
/// matter to servers such as OpenRouter.
fn is_summary(reasoning: &Value) -> bool {
    let members = reasoning.as_object();
    members.is_some_and(|members| members.keys().all(|key| key == "summary"))
}

pub(super) fn sends_completion_tokens(field: TokenField, model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    match field {
        TokenField::MaxTokens => false,
        TokenField::MaxCompletionTokens => true,
        TokenField::ByModel => ["gpt-5", "gpt-6", "o1", "o3", "o4"]
            .iter()
            .any(|prefix| name.starts_with(prefix)),
    }
}

/// Whether a native tool belongs to this API: Gemini's tools have no type, and Anthropic's types
/// end in a date.
fn is_ours(tool: &ToolOffer) -> bool {
    let ToolOffer::Native(native) = tool else {
        return true;
    };
    let Some(kind) = native.get("type").and_then(Value::as_str) else {
        return false;
    };
    let last = kind.rsplit('_').next().unwrap_or_default();
    last.len() != 8 || !last.bytes().all(|byte| byte.is_ascii_digit())
}

/// Context for encoding each message.
struct WriteContext<'a> {
    wire: &'a OpenAiChat,
    model: &'a str,
    /// Index of the last user message.
    asked: Option<usize>,
    /// Ids of calls in turns from other APIs; tool results do not contain this information.
    foreign: HashSet<&'a str>,
}

fn messages(wire: &OpenAiChat, model: &str, messages: &[Message]) -> Result<Value, ModelError> {
    let calls = messages
        .iter()
        .filter(|message| is_foreign(message))
        .flat_map(|message| &message.tool_calls);
    let conversation = WriteContext {
        wire,
        model,
        // The position of the last user message separates the current tool loop from older turns.
        asked: messages.iter().rposition(|m| m.role == Role::User),
        foreign: calls.map(|call| call.id.as_str()).collect(),
    };
    let mut written = Vec::with_capacity(messages.len());
    // This API accepts media only from users, so media in tool results is collected here.
    let mut pictures: Vec<Value> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        // Results of parallel calls must follow each other directly, so media waits until the last
        // of them is written.
        if message.role != Role::Tool {
            written.extend(shown(&mut pictures));
        }
        let one = match media_of_result(message) {
            Some((text, media)) => {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                let id = conversation.call_id(id);
                pictures.push(json!({"type": "text", "text": format!("From the result of {id}:")}));
                pictures.extend(media);
                conversation.message(index, &text)
            }
            None => conversation.message(index, message),
        };
        written.push(one.map_err(|cause| refuse(format!("messages[{index}]: {cause}")))?);
    }
    written.extend(shown(&mut pictures));
    Ok(Value::Array(written))
}

/// Returns a user message with the media from tool results.
fn shown(pictures: &mut Vec<Value>) -> Option<Value> {
    let parts = std::mem::take(pictures);
    (!parts.is_empty()).then(|| json!({"role": "user", "content": parts}))
}

/// Splits a tool result into its texts and its other parts.
fn media_of_result(message: &Message) -> Option<(Message, Vec<Value>)> {
    let MessageContent::Parts(parts) = &message.content else {
        return None;
    };
    let native = message.native.as_ref().filter(|native| native.wire == WIRE);
    // The server sent this turn in the same format, so it accepts media in results.
    if native.is_some_and(|native| native.content.get("content").is_some()) {
        return None;
    }
    let is_text = |part: &&ContentPart| matches!(part, ContentPart::Text { .. });
    let (texts, media): (Vec<_>, Vec<_>) = parts.iter().partition(is_text);
    if message.role != Role::Tool || media.is_empty() {
        return None;
    }
    let texts: Vec<ContentPart> = texts.into_iter().cloned().collect();
    let content = if texts.is_empty() {
        MessageContent::Text("The result follows as a picture.".to_owned())
    } else {
        MessageContent::Parts(texts)
    };
    let media = media
        .into_iter()
        .filter_map(|part| serde_json::to_value(part).ok());
    let message_of_texts = Message {
        content,
        ..message.clone()
    };
    Some((message_of_texts, media.collect()))
}

/// Whether the message came from another API.
fn is_foreign(message: &Message) -> bool {
    let native = message.native.as_ref();
    native.is_some_and(|native| native.wire != WIRE)
}

impl WriteContext<'_> {
    fn message(&self, index: usize, message: &Message) -> Result<Value, String> {
        let mut written = JsonObject::new();
        written.insert("role".into(), message.role.as_str().into());
        written.insert("content".into(), content(message)?);
        if let Some(name) = &message.name {
            written.insert("name".into(), name.as_str().into());
        }
        match message.role {
            Role::Assistant => self.turn(index, message, &mut written),
            Role::Tool => {
                let id = message
                    .tool_call_id
                    .as_deref()
                    .ok_or("a tool result has no call id: set tool_call_id")?;
                written.insert("tool_call_id".into(), self.call_id(id).into());
            }
            _ => {}
        }
        let of_model = |bound: Option<&str>| bound.is_none_or(|bound| bound == self.model);
        let native = message.native.as_ref();
        if let Some(native) = native.filter(|n| n.wire == WIRE && of_model(n.model.as_deref())) {
            lay_over(&mut written, &native.content);
        }
        Ok(Value::Object(written))
    }

    /// Adds calls and reasoning of a model turn.
    fn turn(&self, index: usize, message: &Message, written: &mut JsonObject) {
        let has_calls = !message.tool_calls.is_empty();
        if has_calls {
            let calls = message.tool_calls.iter().map(|call| self.tool_call(call));
            written.insert("tool_calls".into(), calls.collect());
        }
        let in_loop = has_calls && self.asked.is_none_or(|asked| index > asked);
        let reasoning = message
            .reasoning
            .as_deref()
            .filter(|_| !is_foreign(message));
        if let Some(reasoning) = reasoning.filter(|_| echoes(self.wire.echo, in_loop)) {
            written.insert("reasoning_content".into(), reasoning.into());
        }
    }

    fn tool_call(&self, call: &ToolCall) -> Value {
        let arguments = match call.arguments.trim() {
            // Servers parse the arguments as JSON, and an empty string is not JSON.
            "" => "{}",
            _ => &call.arguments,
        };
        json!({
            "id": self.call_id(&call.id),
            "type": "function",
            "function": {"name": call.name, "arguments": arguments},
        })
    }

    /// Returns an id that the server accepts. Ids of other providers are preserved if possible.
    fn call_id(&self, id: &str) -> String {
        let ids = self.wire.call_ids;
        let is_short = (1..=40).contains(&id.len());
        let is_fine = match ids {
            // The server accepts its own long ids, but may reject a long id of another provider.
            CallIds::Any => is_short || (!id.is_empty() && !self.foreign.contains(id)),
            CallIds::Short => is_short,
            CallIds::Nine => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        };
        match ids {
            _ if is_fine => id.to_owned(),
            CallIds::Nine => call_id::digest(id, 9),
            _ => format!("call_{}", call_id::digest(id, 24)),
        }
    }
}

/// Returns `null` for a turn with only calls: some templates of open models fail if the member is
/// missing, and some if the text is empty.
fn content(message: &Message) -> Result<Value, String> {
    let is_empty = matches!(&message.content, MessageContent::Text(text) if text.is_empty());
    if is_empty && !message.tool_calls.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::to_value(&message.content).map_err(|error| error.to_string())
}

fn echoes(echo: ReasoningEcho, in_tool_loop: bool) -> bool {
    match echo {
        ReasoningEcho::Never => false,
        ReasoningEcho::InToolLoop => in_tool_loop,
        ReasoningEcho::Always => true,
    }
}

/// Copies the native members into the message: those of calls one by one, all others by
/// replacement.
fn lay_over(written: &mut JsonObject, native: &Value) {
    for (key, value) in native.as_object().into_iter().flatten() {
        match (written.get_mut(key), value) {
            (Some(Value::Array(there)), Value::Array(extra)) if key == "tool_calls" => {
                // The extras are in the order of the calls.
                for (call, extra) in there.iter_mut().zip(extra) {
                    let extra = extra.as_object().cloned().unwrap_or_default();
                    call.as_object_mut()
                        .into_iter()
                        .for_each(|call| call.extend(extra.clone()));
                }
            }
            (None, Value::Array(_)) if key == "tool_calls" => {}
            _ => {
                written.insert(key.clone(), value.clone());
            }
        }
    }
}

fn refuse(cause: String) -> ModelError {
    ModelError::new(ModelErrorKind::Refused, cause)
}
