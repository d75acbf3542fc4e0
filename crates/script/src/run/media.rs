//! Content parts as written in a script: reads files and expands short forms to OpenAI's format.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quillet_core::{ContentPart, MapTable, Span, Value, nearest};

use super::content_parts::{MEDIA, TYPES, are_parts, is_media, parts};
use super::failure::refuse_with;
use super::instance::Instance;
use super::print::print;
use super::scope::NameScope;
use crate::error::ScriptError;

/// Media types by file extension.
const KINDS: [(&str, &str); 16] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("pdf", "application/pdf"),
    ("json", "application/json"),
    ("csv", "text/csv"),
    ("md", "text/markdown"),
    ("txt", "text/plain"),
];

impl Instance {
    /// Converts content to parts in OpenAI's format and reads their files. Other content is
    /// returned unchanged.
    pub(super) async fn with_parts(
        self: &Arc<Self>,
        content: Value,
        scope: &NameScope,
        at: Span,
    ) -> Result<Value, ScriptError> {
        check_types(&content, scope, at)?;
        if !are_parts(&content) {
            return Ok(content);
        }
        let Value::List(items) = &content else {
            return Ok(content);
        };
        let mut made = Vec::with_capacity(items.len());
        for item in items.iter() {
            made.push(match item {
                Value::Map(map) if is_media(item) => self.medium(map, scope, at).await?,
                Value::Map(map) if map.get("type").is_some() => item.clone(),
                Value::Map(map) => text_part(&print(map.get("text"))),
                text => text_part(&print(Some(text))),
            });
        }
        let made = Value::from(made);
        if parts(&made).is_some() {
            return Ok(made);
        }
        let json = serde_json::Value::from(&made);
        let why = serde_json::from_value::<Vec<ContentPart>>(json).err();
        let why = why.map_or_else(String::new, |error| format!(": {error}"));
        let help = "write {type: image_url, image_url: {url: …}}, or {image: FILE-OR-ADDRESS}";
        let why = format!("invalid part of this message for its type{why}");
        Err(refuse_with(scope, at, why, help.to_owned()))
    }

    async fn medium(
        self: &Arc<Self>,
        map: &quillet_core::Map,
        scope: &NameScope,
        at: Span,
    ) -> Result<Value, ScriptError> {
        let named = |name: &&&str| map.get(name).is_some();
        let class = MEDIA.iter().find(named).copied().unwrap_or("file");
        let place = map.get(class).and_then(Value::as_str).unwrap_or_default();
        let is_address = ["https://", "http://", "data:"]
            .iter()
            .any(|scheme| place.starts_with(scheme));
        let url = if is_address {
            place.to_owned()
        } else {
            let bytes = self.bytes_of(place, scope, at).await?;
            let media_type = media_type(place, class);
            let url = format!("data:{media_type};base64,{}", STANDARD.encode(&bytes));
            self.world.kept.add(url.len());
            url
        };
        let mut part = ContentPart::media(&url, Some(class), None);
        if let ContentPart::File { file } = &mut part
            && !is_address
        {
            let name = place.rsplit(['/', '\\']).next().unwrap_or(place);
            file.filename = Some(name.to_owned());
        }
        if let ContentPart::ImageUrl { image_url } = &mut part {
            let detail = map.get("detail").and_then(Value::as_str);
            image_url.detail = detail.map(str::to_owned);
        }
        self.world.room(scope, at)?;
        Ok(Value::from(serde_json::to_value(&part).unwrap_or_default()))
    }
}

fn text_part(text: &str) -> Value {
    let mut table = MapTable::default();
    table.insert("type".into(), Value::from("text"));
    table.insert("text".into(), Value::from(text));
    Value::Map(quillet_core::Map::new(table))
}

fn media_type(path: &str, class: &str) -> &'static str {
    let ending = path.rsplit('.').next().unwrap_or_default().to_lowercase();
    let known = KINDS.iter().find(|(known, _)| *known == ending);
    match (known, class) {
        (Some((_, media_type)), _) => media_type,
        (None, "image") => "image/png",
        (None, "audio") => "audio/wav",
        (None, _) => "application/octet-stream",
    }
}

/// Warns about a misspelled part type, in a list that has another valid part or only this one.
fn check_types(content: &Value, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
    let Value::List(items) = content else {
        return Ok(());
    };
    let types = items
        .iter()
        .filter_map(|item| item.as_map()?.get("type")?.as_str());
    for name in types.filter(|name| !TYPES.contains(name)) {
        if let Some(near) = nearest(name, TYPES).filter(|near| name.len() > 4 || *near == "text") {
            let why = format!("unknown part type `{name}`");
            let help = format!("did you mean `{near}`?");
            return Err(refuse_with(scope, at, why, help));
        }
    }
    Ok(())
}
