//! Vectors of rendered chat prompts: the messages that .NET parses and, in the tier `python`, those
//! that Python parses.

use quillet_core::Value;
use quillet_template::format::semantic_kernel::{HostLanguage, chat};
use quillet_template::{ChatMessage, MessagePart};
use serde_json::{Value as Json, json};

use super::file::{self, Vector};
use super::report::Outcome;

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    let mut outcomes = Vec::new();
    for dialect in [HostLanguage::DotNet, HostLanguage::Python] {
        let file = expected_as_text(text, dialect).map_err(|error| error.to_string())?;
        outcomes.extend(file::run(&file, |vector| evaluate(vector, dialect))?);
    }
    Ok(outcomes)
}

/// Returns the file with the expected messages of one language as text. Only .NET's results state
/// whether a text is a chat prompt.
fn expected_as_text(text: &str, dialect: HostLanguage) -> serde_json::Result<String> {
    let mut file: Json = serde_json::from_str(text)?;
    for vector in file["vectors"].as_array_mut().into_iter().flatten() {
        vector["template"] = vector["rendered"].clone();
        let mut wanted = vector["expected"].clone();
        if dialect == HostLanguage::Python {
            vector["name"] = json!(format!("python-{}", vector["name"].as_str().unwrap_or("")));
            vector["group"] = json!("python");
            if vector["python"].is_object() {
                wanted = vector["python"].clone();
            }
            wanted["fallback"] = Json::Null;
        }
        vector["expected"] = match wanted["messages"] {
            Json::Null => Json::Null,
            _ => json!(wanted.to_string()),
        };
    }
    serde_json::to_string(&file)
}

fn evaluate(vector: &Vector<'_>, dialect: HostLanguage) -> Result<String, String> {
    let found = chat::parse(vector.text("rendered"), dialect).map_err(|error| error.message)?;
    let messages: Vec<Json> = found.messages.iter().map(message).collect();
    let fallback = match dialect {
        HostLanguage::DotNet => json!(!found.structured),
        HostLanguage::Python => Json::Null,
    };
    Ok(json!({ "messages": messages, "fallback": fallback }).to_string())
}

fn message(message: &ChatMessage) -> Json {
    match &message.parts[..] {
        [] => json!({ "role": message.role, "content": null }),
        [MessagePart::Text(text)] => json!({ "role": message.role, "content": text }),
        parts => {
            let items: Vec<Json> = parts.iter().map(part).collect();
            json!({ "role": message.role, "items": items })
        }
    }
}

fn part(part: &MessagePart) -> Json {
    match part {
        MessagePart::Text(text) => json!({ "type": "text", "content": text }),
        MessagePart::Media {
            kind,
            url,
            content_type,
        } => {
            let mut item = json!({ "type": kind, "content": url });
            if let Some(content_type) = content_type {
                item["mimetype"] = json!(content_type);
            }
            item
        }
        MessagePart::Pending(map) => json!({ "pending": format!("{:?}", Value::Map(map.clone())) }),
    }
}
