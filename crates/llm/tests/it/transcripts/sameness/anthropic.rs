//! Anthropic's Messages API.

use serde_json::{Value, json};

pub fn normalize(body: &mut Value) {
    if let Some(Value::String(text)) = body.get("system") {
        body["system"] = json!([{"type": "text", "text": text}]);
    }
    let Some(turns) = body.get_mut("messages").and_then(Value::as_array_mut) else {
        return;
    };
    let mut merged: Vec<Value> = Vec::new();
    for mut turn in std::mem::take(turns) {
        if let Some(text) = turn["content"].as_str() {
            turn["content"] = json!([{"type": "text", "text": text}]);
        }
        match merged
            .last_mut()
            .filter(|last| last["role"] == turn["role"])
        {
            Some(last) => super::append(&mut last["content"], &mut turn["content"]),
            None => merged.push(turn),
        }
    }
    for turn in &mut merged {
        if let Some(blocks) = turn["content"].as_array_mut() {
            blocks.sort_by_key(|block| block["type"] != "tool_result");
        }
    }
    *turns = merged;
}
