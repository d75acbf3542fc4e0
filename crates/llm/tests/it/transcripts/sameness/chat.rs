//! OpenAI's Chat Completions API.

use serde_json::{Map, Value};

pub fn normalize(body: &mut Value) {
    let Some(members) = body.as_object_mut() else {
        return;
    };
    if let Some(limit) = members.remove("max_completion_tokens") {
        members.insert("max_tokens".into(), limit);
    }
    let messages = members.get_mut("messages").and_then(Value::as_array_mut);
    for message in messages.into_iter().flatten() {
        message
            .as_object_mut()
            .into_iter()
            .for_each(normalize_message);
    }
}

fn normalize_message(message: &mut Map<String, Value>) {
    super::join_text(message, "content", &["text"]);
    if message.contains_key("tool_calls") && message.get("content").is_some_and(|c| c == "") {
        message.remove("content");
    }
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(call) = call.as_object_mut() {
            call.remove("index");
        }
        if let Some(arguments) = call.pointer_mut("/function/arguments") {
            let parsed = arguments
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok());
            *arguments = parsed.unwrap_or(arguments.take());
        }
    }
}
