//! Messages of parts: texts, images, sounds and files.
//!
//! A script writes OpenAI's `{type: image_url, image_url: {url: …}}`, or in short
//! `{image: photo.png}`, where the address is a file's path too. Such a list becomes parts when the
//! message is said; another list is data, and prints as JSON.

use quillet_core::{ContentPart, Value};

use super::print::print;

/// What a part may be in short.
pub(super) const MEDIA: [&str; 3] = ["image", "audio", "file"];

/// The types of parts, as OpenAI's wire has them.
pub(super) const TYPES: [&str; 5] = ["text", "image_url", "audio_url", "input_audio", "file"];

/// Whether a value is a list of parts, and not data: one of them says so.
pub(super) fn are_parts(content: &Value) -> bool {
    let Value::List(items) = content else {
        return false;
    };
    let is_part = |item: &Value| is_media(item) || kind(item).is_some_and(|kind| kind != "text");
    let may_be = |item: &Value| is_part(item) || is_text(item);
    items.iter().any(is_part) && items.iter().all(may_be)
        || !items.is_empty() && items.iter().all(|item| kind(item) == Some("text"))
}

/// The parts of a message as providers are sent them; `None` for other content.
pub(super) fn parts(content: &Value) -> Option<Vec<ContentPart>> {
    if !are_parts(content) {
        return None;
    }
    let json = serde_json::Value::from(content);
    serde_json::from_value(json).ok()
}

/// What a message says, for people: media are named, and not written out.
pub(super) fn display_text(content: &Value) -> String {
    part_text(content).unwrap_or_else(|| print(Some(content)))
}

/// What a message of parts says, for people and for whoever counts on a text.
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

/// The type that a part names, if there is such a type.
fn kind(item: &Value) -> Option<&str> {
    let kind = item.as_map()?.get("type")?.as_str()?;
    TYPES.contains(&kind).then_some(kind)
}

fn is_text(item: &Value) -> bool {
    let text = |map: &quillet_core::Map| map.len() == 1 && map.get("text").is_some();
    item.as_str().is_some() || kind(item) == Some("text") || item.as_map().is_some_and(text)
}

/// `{image: …}`, and `{image: …, detail: low}`.
pub(super) fn is_media(item: &Value) -> bool {
    let Some(map) = item.as_map() else {
        return false;
    };
    let named = |name: &&str| map.get(name).is_some_and(|value| value.as_str().is_some());
    let mut names = map.iter().map(|(name, _)| &**name);
    MEDIA.iter().any(named) && names.all(|name| MEDIA.contains(&name) || name == "detail")
}
