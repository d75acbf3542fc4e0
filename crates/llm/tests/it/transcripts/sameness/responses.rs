//! OpenAI's Responses API.

use serde_json::{Map, Value, json};

/// Removes the members that the encoder adds if the client does not set them.
pub fn ours(given: &Value, written: &mut Value) {
    let Some(written) = written.as_object_mut() else {
        return;
    };
    for name in ["store", "include"] {
        if given.get(name).is_none() {
            written.remove(name);
        }
    }
}

pub fn normalize(body: &mut Value) {
    let Some(members) = body.as_object_mut() else {
        return;
    };
    if let Some(Value::String(text)) = members.get("input") {
        let message = json!([{"role": "user", "content": text}]);
        members.insert("input".into(), message);
    }
    let items = members.get_mut("input").and_then(Value::as_array_mut);
    for item in items.into_iter().flatten() {
        item.as_object_mut().into_iter().for_each(normalize_item);
    }
}

fn normalize_item(item: &mut Map<String, Value>) {
    if item.get("type").is_some_and(|kind| kind == "message") {
        item.remove("type");
    }
    super::join_text(item, "content", &["input_text", "output_text"]);
    super::join_text(item, "output", &["input_text", "output_text"]);
}
