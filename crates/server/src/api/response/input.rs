//! Reads the input of a run. `messages` precedes `content`, which precedes `text`. Each of them can
//! contain images.

use quillet_core::{ContentPart, Message, MessageContent, Role, ToolCall};
use quillet_host::agent::RunInput;
use serde_json::Value;

use super::reader::ObjectReader;
use super::validation::PathSegment;

/// The valid roles of messages.
const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];
/// The default media type of an image.
const IMAGE: &str = "image/png";

/// Reads `input`. Returns `None` if it is empty.
pub(super) fn read(object: &mut ObjectReader<'_>) -> Option<RunInput> {
    // Read all three members before choosing one, so that errors in each are reported.
    let messages = object.objects("messages", message);
    let content = parts(object, "content");
    let text = text(object);
    if !messages.is_empty() {
        return Some(RunInput::Messages(messages));
    }
    let content = if content.is_empty() {
        text?
    } else {
        content.into()
    };
    let says_nothing = matches!(&content, MessageContent::Text(text) if text.is_empty());
    (!says_nothing).then_some(RunInput::Content(content))
}

/// Reads a text, or a text with images.
fn text(object: &mut ObjectReader<'_>) -> Option<MessageContent> {
    match object.take("text")? {
        Value::String(text) => Some(MessageContent::Text(text)),
        vision @ Value::Object(_) => {
            let place = object.place("text");
            seen(ObjectReader::read(vision, place, object.faults())?)
        }
        other => {
            let mut at = object.place("text");
            at.push("str".into());
            let msg = "Input should be a valid string".to_owned();
            object.faults().add("string_type", &at, msg, &other);
            None
        }
    }
}

/// Reads `{"type": "vision", …}` or `{"type": "multi_vision", …}`.
fn seen(mut vision: ObjectReader<'_>) -> Option<MessageContent> {
    vision.require(&["type", "text"]);
    let kind = vision.word("type", &["vision", "multi_vision"])?;
    let mut parts = vec![ContentPart::text(vision.text("text").unwrap_or_default())];
    match kind.as_str() {
        "vision" => parts.extend(image(&mut vision)),
        _ => parts.extend(vision.objects("images", image)),
    }
    Some(parts.into())
}

fn image(object: &mut ObjectReader<'_>) -> Option<ContentPart> {
    object.require(&["image_base64"]);
    let media_type = object.text("mime_type").unwrap_or_else(|| IMAGE.to_owned());
    let data = object.text("image_base64")?;
    Some(ContentPart::media(
        &data_url(&media_type, &data),
        Some("image"),
        None,
    ))
}

fn data_url(media_type: &str, data: &str) -> String {
    if data.starts_with("data:") {
        data.to_owned()
    } else {
        format!("data:{media_type};base64,{data}")
    }
}

fn parts(object: &mut ObjectReader<'_>, name: &str) -> Vec<ContentPart> {
    object.objects(name, part)
}

/// Reads a content part in the format of Chat Shell, OpenAI or Anthropic.
fn part(object: &mut ObjectReader<'_>) -> Option<ContentPart> {
    object.require(&["type"]);
    match object
        .word(
            "type",
            &["text", "image", "image_url", "input_audio", "file"],
        )?
        .as_str()
    {
        "text" => {
            object.require(&["text"]);
            object.text("text").map(ContentPart::text)
        }
        "image" => {
            object.require(&["source"]);
            source(object.object("source")?)
        }
        "image_url" => {
            object.require(&["image_url"]);
            address(object)
        }
        kind => native(object, kind),
    }
}

/// Reads `{"data": …, "media_type": …}` or `{"url": …}`.
fn source(mut source: ObjectReader<'_>) -> Option<ContentPart> {
    if let Some(url) = source.text("url") {
        return Some(ContentPart::media(&url, Some("image"), None));
    }
    source.require(&["data"]);
    let media_type = source
        .text("media_type")
        .unwrap_or_else(|| IMAGE.to_owned());
    let data = source.text("data")?;
    Some(ContentPart::media(
        &data_url(&media_type, &data),
        Some("image"),
        None,
    ))
}

/// Reads `"https://…"` or `{"url": "https://…"}`.
fn address(object: &mut ObjectReader<'_>) -> Option<ContentPart> {
    let url = match object.take("image_url")? {
        Value::String(url) => url,
        other => {
            let place = object.place("image_url");
            let mut inner = ObjectReader::read(other, place, object.faults())?;
            inner.require(&["url"]);
            inner.text("url")?
        }
    };
    Some(ContentPart::media(&url, Some("image"), None))
}

/// Reads a content part in the native format.
fn native(object: &mut ObjectReader<'_>, kind: &str) -> Option<ContentPart> {
    object.require(&[kind]);
    let inner = object.take(kind)?;
    let mut whole = serde_json::Map::new();
    whole.insert("type".to_owned(), kind.into());
    whole.insert(kind.to_owned(), inner);
    let whole = Value::Object(whole);
    match serde_json::from_value(whole.clone()) {
        Ok(part) => Some(part),
        Err(error) => {
            object.fault(
                "value_error",
                kind,
                &format!("Value error, {error}"),
                &whole,
            );
            None
        }
    }
}

/// Reads a message of a conversation.
fn message(object: &mut ObjectReader<'_>) -> Option<Message> {
    object.require(&["role"]);
    let content = content(object);
    let calls = object.objects("tool_calls", call);
    let reasoning = object.text("reasoning_content");
    let (name, answered) = (object.text("name"), object.text("tool_call_id"));
    let role = Role::parse(&object.word("role", &ROLES)?)?;
    let mut message = Message::new(role, content);
    (message.name, message.tool_call_id) = (name, answered);
    (message.tool_calls, message.reasoning) = (calls, reasoning);
    Some(message)
}

fn content(object: &mut ObjectReader<'_>) -> MessageContent {
    match object.take("content") {
        None => MessageContent::default(),
        Some(Value::String(text)) => MessageContent::Text(text),
        Some(Value::Array(items)) => {
            object.put("content", Value::Array(items));
            parts(object, "content").into()
        }
        Some(other) => {
            let mut at = object.place("content");
            for (kind, step, what) in [
                ("string_type", "str", "Input should be a valid string"),
                ("list_type", "list", "Input should be a valid list"),
            ] {
                at.push(PathSegment::from(step));
                object.faults().add(kind, &at, what.to_owned(), &other);
                at.pop();
            }
            MessageContent::default()
        }
    }
}

/// Reads a call in the format of OpenAI's Chat API. The arguments may also be an object.
fn call(object: &mut ObjectReader<'_>) -> Option<ToolCall> {
    object.require(&["id", "function"]);
    let id = object.text("id").unwrap_or_default();
    let mut function = object.object("function")?;
    function.require(&["name"]);
    Some(ToolCall {
        id,
        arguments: function.take("arguments").map(text_of).unwrap_or_default(),
        name: function.text("name")?,
    })
}

/// Returns a string unchanged, and any other value as JSON.
pub(super) fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
