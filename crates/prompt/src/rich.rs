//! Inputs that are not text: conversations, images, files and audio.
//!
//! Their values are replaced by markers that only this process can create. A marker holds the
//! position in the rendered text, and no other text can imitate it.

use std::sync::Arc;

use quillet_core::{Map, Value, ValueList};
use quillet_template::structure::{self, ChatMessage, MessagePart};

use crate::error::VariableError;

/// A variable that is not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructuredVariable {
    /// The variable.
    pub name: Arc<str>,
    /// Its kind.
    pub kind: RichKind,
}

/// The kind of a rich variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RichKind {
    /// Messages: a list of `{role, content}`, or an object with `messages`.
    Thread,
    /// An image: an address, a `data:` URL, or `{url, mediaType}`.
    Image,
    /// A file, in the same forms as an image.
    File,
    /// Audio, in the same forms as an image.
    Audio,
}

impl RichKind {
    /// Returns the rich kind with this name in a prompty file.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::file::RichKind;
    ///
    /// assert_eq!(RichKind::parse("image"), Some(RichKind::Image));
    /// assert_eq!(RichKind::parse("string"), None);
    /// ```
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "thread" => RichKind::Thread,
            "image" => RichKind::Image,
            "file" => RichKind::File,
            "audio" => RichKind::Audio,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            RichKind::Thread => "thread",
            RichKind::Image => "image",
            RichKind::File => "file",
            RichKind::Audio => "audio",
        }
    }
}

/// Replaces rich values with markers.
pub(crate) fn mark(rich: &[StructuredVariable], variables: Map) -> Result<Map, Vec<VariableError>> {
    if rich.is_empty() {
        return Ok(variables);
    }
    let mut table = variables.to_table();
    let mut problems = Vec::new();
    for StructuredVariable { name, kind } in rich {
        // Missing and null variables are left to the checks of the template.
        let Some(value) = table
            .get_mut(&**name)
            .filter(|value| **value != Value::Null)
        else {
            continue;
        };
        match marked(*kind, value) {
            Ok(mark) => *value = mark.into(),
            Err(message) => problems.push(VariableError {
                path: format!("variables.{name}"),
                message,
            }),
        }
    }
    if problems.is_empty() {
        return Ok(Map::new(table));
    }
    Err(problems)
}

fn marked(kind: RichKind, value: &Value) -> Result<String, String> {
    if kind == RichKind::Thread {
        return Ok(structure::thread(&thread(value)?));
    }
    let (url, content_type) = medium(kind, value)?;
    Ok(structure::attachment(
        Some(kind.name()),
        &url,
        content_type.as_deref(),
    ))
}

fn medium(kind: RichKind, value: &Value) -> Result<(String, Option<String>), String> {
    if let Value::Str(url) = value {
        return Ok((url.to_string(), None));
    }
    let text = |keys: &[&str]| {
        let map = value.as_map()?;
        let found = keys.iter().find_map(|key| map.get(key)?.as_str());
        found.map(str::to_owned)
    };
    // Clients use different names for the same field.
    let url = text(&["url", "source", "value", "path"]).ok_or_else(|| {
        format!(
            "{} must be an address, a data: URL or an object with url",
            kind.name()
        )
    })?;
    Ok((url, text(&["mediaType", "contentType", "media_type"])))
}

fn thread(value: &Value) -> Result<Vec<ChatMessage>, String> {
    let messages = match value {
        Value::Map(map) => map.get("messages").unwrap_or(value),
        other => other,
    };
    let Value::List(messages) = messages else {
        return Err("a thread must be a list of messages {role, content}".into());
    };
    messages.iter().enumerate().map(message).collect()
}

fn message((index, value): (usize, &Value)) -> Result<ChatMessage, String> {
    let wrong = |what: &str| format!("message {index} of the thread {what}");
    let map = value.as_map().ok_or_else(|| wrong("is not an object"))?;
    let role = map.get("role").and_then(Value::as_str);
    let role = role.ok_or_else(|| wrong("has no role"))?;
    let parts = match map.get("content").or_else(|| map.get("parts")) {
        Some(Value::Str(text)) => vec![MessagePart::Text(text.to_string())],
        Some(Value::List(items)) => parts(items).ok_or_else(|| wrong("has an unknown part"))?,
        _ => return Err(wrong("has no content")),
    };
    Ok(ChatMessage {
        role: role.to_owned(),
        parts,
        metadata: match map.get("metadata") {
            Some(Value::Map(metadata)) => metadata.clone(),
            _ => Map::default(),
        },
    })
}

fn parts(items: &ValueList) -> Option<Vec<MessagePart>> {
    items.iter().map(part).collect()
}

fn part(item: &Value) -> Option<MessagePart> {
    if let Value::Str(text) = item {
        return Some(MessagePart::Text(text.to_string()));
    }
    let map = item.as_map()?;
    let kind = map.get("kind").or_else(|| map.get("type"));
    let kind = kind.and_then(Value::as_str).unwrap_or("text");
    if kind == "text" {
        let text = map.get("value").or_else(|| map.get("text"))?;
        return Some(MessagePart::Text(text.as_str()?.to_owned()));
    }
    let rich = RichKind::parse(kind).filter(|kind| *kind != RichKind::Thread)?;
    let (url, content_type) = medium(rich, item).ok()?;
    Some(MessagePart::Media {
        kind: Some(kind.to_owned()),
        url,
        content_type,
    })
}
