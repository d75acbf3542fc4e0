//! Messages that consist of content parts: text, images, audio and files.
//!
//! A script writes OpenAI's `{type: image_url, image_url: {url: …}}` or the short form `{image:
//! photo.png}`, whose value is a URL or a file path. Such a list is converted to content parts when
//! the message is added. Any other list is data and is printed as JSON.

use quillet_core::{ContentPart, Value};

use super::print::print;

/// Keys of the short form.
pub(super) const MEDIA: [&str; 3] = ["image", "audio", "file"];

/// Type names of content parts in the OpenAI API.
pub(super) const TYPES: [&str; 5] = ["text", "image_url", "audio_url", "input_audio", "file"];

/// Returns whether a value is a list of content parts. One item that is clearly a part is enough.
pub(super) fn are_parts(content: &Value) -> bool {
    let Value::List(items) = content else {
        return false;
    };
    let is_part = |item: &Value| is_media(item) || kind(item).is_some_and(|kind| kind != "text");
    let may_be = |item: &Value| is_part(item) || is_text(item);
    items.iter().any(is_part) && items.iter().all(may_be)
        || !items.is_empty() && items.iter().all(|item| kind(item) == Some("text"))
}

/// Converts a message to content parts for providers. Returns `None` for other content.
pub(super) fn parts(content: &Value) -> Option<Vec<ContentPart>> {
    if !are_parts(content) {
        return None;
    }
    let json = serde_json::Value::from(content);
    serde_json::from_value(json).ok()
}

/// Returns the text of a message for display. Media appear by name, without their data.
pub(super) fn display_text(content: &Value) -> String {
    part_text(content).unwrap_or_else(|| print(Some(content)))
}

/// Returns the text of a message with content parts, for display and for token counting.
fn part_text(content: &Value) -> Option<String> {
    let parts = parts(content)?;
    let tell = |part: &ContentPart| match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::ImageUrl { .. } => "[image]".to_owned(),
        ContentPart::AudioUrl { .. } | ContentPart::InputAudio { .. } => "[audio]".to_owned(),
        ContentPart::File { file } => match &file.filename {
            Some(name) => format!("[file {name}]"),
            None => "[file]".to_owned(),
        },
    };
    let texts: Vec<String> = parts.iter().map(tell).collect();
    Some(texts.join("\n"))
}

/// Returns the type of a part if it is a known one.
fn kind(item: &Value) -> Option<&str> {
    let kind = item.as_map()?.get("type")?.as_str()?;
    TYPES.contains(&kind).then_some(kind)
}

fn is_text(item: &Value) -> bool {
    let text = |map: &quillet_core::Map| map.len() == 1 && map.get("text").is_some();
    item.as_str().is_some() || kind(item) == Some("text") || item.as_map().is_some_and(text)
}

/// Returns whether an item has the short form `{image: …}` or `{image: …, detail: low}`.
pub(super) fn is_media(item: &Value) -> bool {
    let Some(map) = item.as_map() else {
        return false;
    };
    let named = |name: &&str| map.get(name).is_some_and(|value| value.as_str().is_some());
    let mut names = map.iter().map(|(name, _)| &**name);
    MEDIA.iter().any(named) && names.all(|name| MEDIA.contains(&name) || name == "detail")
}
