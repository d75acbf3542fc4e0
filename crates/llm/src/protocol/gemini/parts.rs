//! Conversion between messages and parts.

use quillet_core::chat::ModelError;
use quillet_core::message::MediaFile;
use quillet_core::{ContentPart, Message, MessageContent, NativeTurn, Role, ToolCall};
use serde_json::{Map, Value, json};

use crate::protocol::data_url::DataUrl;
use crate::protocol::wire_name::GEMINI as WIRE;
use crate::protocol::{native, unsupported};

/// Returns the parts of the message at this index of the conversation: its native parts if it has
/// any, or otherwise the converted content.
pub(super) fn write(message: &Message, at: usize) -> Result<Vec<Value>, ModelError> {
    match native(message, WIRE) {
        Some(parts) => Ok(parts.clone()),
        None => plain(message, at),
    }
}

/// Converts a message into parts. Reasoning is omitted: the provider only accepts its own thoughts,
/// and those are stored as native parts.
fn plain(message: &Message, at: usize) -> Result<Vec<Value>, ModelError> {
    let content = write_content(&message.content, at)?;
    let calls = message.tool_calls.iter().map(write_call);
    Ok(content.into_iter().chain(calls).collect())
}

pub(super) fn write_content(content: &MessageContent, at: usize) -> Result<Vec<Value>, ModelError> {
    let given = match content {
        MessageContent::Text(text) => return Ok(write_text(text).into_iter().collect()),
        MessageContent::Parts(parts) => parts,
    };
    let mut parts = Vec::with_capacity(given.len());
    for (number, part) in given.iter().enumerate() {
        let refuse = |cause: &str| unsupported(&format!("messages[{at}].content[{number}]"), cause);
        parts.extend(write_part(part).map_err(refuse)?);
    }
    Ok(parts)
}

fn write_text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!({"text": text}))
}

fn write_part(part: &ContentPart) -> Result<Option<Value>, &'static str> {
    match part {
        ContentPart::Text { text } => Ok(write_text(text)),
        ContentPart::ImageUrl { image_url: at } | ContentPart::AudioUrl { audio_url: at } => {
            Ok(Some(write_medium(&at.url)))
        }
        ContentPart::InputAudio { input_audio } => {
            let media_type = match input_audio.format.as_str() {
                "mp3" => "audio/mpeg".to_owned(),
                format => format!("audio/{format}"),
            };
            let data = &input_audio.data;
            Ok(Some(
                json!({"inlineData": {"mimeType": media_type, "data": data}}),
            ))
        }
        ContentPart::File { file } => write_file(file).map(Some),
    }
}

fn write_file(file: &MediaFile) -> Result<Value, &'static str> {
    match (&file.file_data, &file.file_id) {
        (Some(url), _) => Ok(write_medium(url)),
        (None, Some(id)) => Ok(json!({"fileData": {"fileUri": id}})),
        (None, None) => Err("the file has neither file_data nor file_id"),
    }
}

fn write_medium(url: &str) -> Value {
    if let Some(data) = DataUrl::parse(url) {
        return json!({"inlineData": {"mimeType": data.media_type, "data": data.base64}});
    }
    let mut file = json!({"fileUri": url});
    if let Some(media_type) = media_type(url) {
        file["mimeType"] = json!(media_type);
    }
    json!({"fileData": file})
}

/// Guesses the media type from the file extension in a URL.
fn media_type(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next()?;
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        _ => return None,
    })
}

fn write_call(call: &ToolCall) -> Value {
    // `args` must be an object, even if the model wrote invalid arguments.
    let args = call.arguments_object();
    let args = args.map_or_else(|| json!({"unparsed": call.arguments}), Value::Object);
    json!({"functionCall": {"name": call.name, "args": args}})
}

/// Returns a tool result, and its media if the API does not accept them inside the result.
pub(super) fn write_result(
    message: &Message,
    at: usize,
    call: &FunctionCallRef,
    takes_media: bool,
) -> Result<(Value, Vec<Value>), ModelError> {
    let parts = write_content(&message.content, at)?;
    let (texts, media): (Vec<Value>, Vec<Value>) = parts
        .into_iter()
        .partition(|part| part.get("text").is_some());
    let text: String = texts.iter().map(|part| string(part, "text")).collect();
    let key = if message.is_error { "error" } else { "output" };
    let mut response = json!({"name": call.name, "response": {key: text}});
    if let Some(id) = &call.id {
        response["id"] = json!(id);
    }
    let has_place = takes_media && !media.is_empty();
    let left = if has_place { Vec::new() } else { media.clone() };
    if has_place {
        response["parts"] = media.into();
    }
    Ok((json!({"functionResponse": response}), left))
}

/// The call that a result refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FunctionCallRef {
    /// Name of the function.
    pub(super) name: String,
    /// The provider's own id, if it sent one; ids of other providers are not used.
    pub(super) id: Option<String>,
    /// Number of the call in the conversation.
    pub(super) number: usize,
}

/// Returns the calls of a model turn with the ids that the client uses.
pub(super) fn calls(
    message: &Message,
    before: usize,
) -> impl Iterator<Item = (&str, FunctionCallRef)> {
    let own = native(message, WIRE).map(Vec::as_slice).unwrap_or_default();
    let mut own = own.iter().filter_map(|part| part.get("functionCall"));
    let calls = message.tool_calls.iter().zip(before..);
    calls.map(move |(call, number)| {
        let id = own
            .next()
            .and_then(|own| own.get("id"))
            .and_then(Value::as_str);
        let wire = FunctionCallRef {
            name: call.name.clone(),
            id: id.map(str::to_owned),
            number,
        };
        (call.id.as_str(), wire)
    })
}

/// Converts parts into a message. `make_id` creates the ids of calls without one.
pub(super) fn read(role: Role, parts: Vec<Value>, mut make_id: impl FnMut() -> String) -> Message {
    let content: Vec<ContentPart> = parts.iter().filter_map(read_part).collect();
    let mut message = Message::new(role, content);
    for part in &parts {
        if let Some(call) = part.get("functionCall") {
            message.tool_calls.push(read_call(call, &mut make_id));
        } else if is_thought(part) {
            let reasoning = message.reasoning.get_or_insert_default();
            reasoning.push_str(string(part, "text"));
        }
    }
    if !plain(&message, 0).is_ok_and(|plain| plain == parts) {
        message.native = Some(own(parts));
    }
    message
}

fn read_call(call: &Value, make_id: &mut impl FnMut() -> String) -> ToolCall {
    let id = call.get("id").and_then(Value::as_str);
    ToolCall {
        id: id.map_or_else(make_id, str::to_owned),
        name: string(call, "name").to_owned(),
        arguments: call
            .get("args")
            .map_or_else(|| "{}".to_owned(), Value::to_string),
    }
}

/// Converts the result of the call with this id.
pub(super) fn read_result(part: Value, id: String) -> Message {
    let response = part
        .pointer("/functionResponse/response")
        .unwrap_or(&Value::Null);
    let only = |key: &str| {
        let members = response.as_object().filter(|members| members.len() == 1)?;
        members.get(key)?.as_str().map(str::to_owned)
    };
    let error = only("error");
    let is_error = error.is_some();
    let text = error
        .or_else(|| only("output"))
        .unwrap_or_else(|| response.to_string());
    Message {
        is_error,
        native: Some(own(vec![part])),
        ..Message::tool(id, text)
    }
}

fn own(parts: Vec<Value>) -> NativeTurn {
    NativeTurn {
        wire: WIRE.to_owned(),
        model: None,
        content: parts.into(),
    }
}

/// Returns `None` for parts without a neutral form; they are preserved in the native parts.
fn read_part(part: &Value) -> Option<ContentPart> {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return (!is_thought(part)).then(|| ContentPart::text(text));
    }
    if let Some(data) = part.get("inlineData") {
        let media_type = string(data, "mimeType");
        let url = DataUrl::write(media_type, string(data, "data"));
        return Some(ContentPart::media(&url, None, Some(media_type)));
    }
    let file = part.get("fileData")?;
    let media_type = file.get("mimeType").and_then(Value::as_str);
    let kind = if media_type.is_none() {
        Some("file")
    } else {
        None
    };
    Some(ContentPart::media(
        string(file, "fileUri"),
        kind,
        media_type,
    ))
}

pub(super) fn is_thought(part: &Value) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

/// Removes members without meaning: null values and `thought: false`.
pub(super) fn tidy(part: &Value) -> Value {
    let Value::Object(members) = part else {
        return part.clone();
    };
    let says_nothing = |key: &str, value: &Value| {
        value.is_null() || (key == "thought" && value == &Value::Bool(false))
    };
    let members = members
        .iter()
        .filter(|(key, value)| !says_nothing(key, value));
    let members: Map<String, Value> = members
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    members.into()
}

pub(super) fn string<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
