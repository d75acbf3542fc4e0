//! Equivalence of request bodies. Both are normalized and must then be equal, member by member and
//! in any order:
//!
//! - all APIs: `null` members are removed; so are `stream` and `stream_options`, since the client
//!   always streams; content of a single text part becomes a text.
//! - anthropic: a text becomes a list of one text block; consecutive messages of one role become
//!   one turn, with tool results first.
//! - gemini: consecutive messages of one role become one content, separate from tool results;
//!   `thought: false` and empty configurations are removed; `parameters` becomes
//!   `parametersJsonSchema`; member names may contain underscores.
//! - openai-chat: `max_completion_tokens` becomes `max_tokens`; empty content next to calls is
//!   removed; `index` of calls is their position in the list; arguments are compared as JSON if
//!   possible.
//! - openai-responses: a text input becomes a list of one user message; a message needs no `type`;
//!   `store` and `include` are ignored unless the client sets them.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Map, Value};

/// Returns the differences and their locations.
pub fn differences(wire: &str, given: &Value, written: &Value) -> Vec<String> {
    let (mut given, mut written) = (given.clone(), written.clone());
    for body in [&mut given, &mut written] {
        strip_nulls(body);
        let Some(members) = body.as_object_mut() else {
            continue;
        };
        members.remove("stream");
        members.remove("stream_options");
    }
    match wire {
        "anthropic" => {
            anthropic::normalize(&mut given);
            anthropic::normalize(&mut written);
        }
        "gemini" => {
            gemini::normalize(&mut given);
            gemini::normalize(&mut written);
        }
        "openai-chat" => {
            chat::normalize(&mut given);
            chat::normalize(&mut written);
        }
        "openai-responses" => {
            responses::ours(&given, &mut written);
            responses::normalize(&mut given);
            responses::normalize(&mut written);
        }
        _ => {}
    }
    let mut differences = Vec::new();
    compare("request", &given, &written, &mut differences);
    differences
}

/// Removes `null` members from objects at any depth.
fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(strip_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

/// Appends the items of one list to another.
fn append(list: &mut Value, more: &mut Value) {
    if let (Some(list), Some(more)) = (list.as_array_mut(), more.as_array_mut()) {
        list.append(more);
    }
}

/// Replaces content of a single text part with its text.
pub fn join_text(members: &mut Map<String, Value>, name: &str, kinds: &[&str]) {
    let Some([part]) = members
        .get(name)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    else {
        return;
    };
    let is_plain = part.as_object().is_some_and(|part| part.len() == 2)
        && part["type"]
            .as_str()
            .is_some_and(|kind| kinds.contains(&kind));
    if let Some(text) = part["text"].as_str().filter(|_| is_plain) {
        let text = text.to_owned();
        members.insert(name.to_owned(), text.into());
    }
}

fn compare(place: &str, given: &Value, written: &Value, differences: &mut Vec<String>) {
    match (given, written) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                let place = format!("{place}.{key}");
                match b.get(key) {
                    Some(other) => compare(&place, value, other, differences),
                    None => differences.push(format!("{place}: lost {value}")),
                }
            }
            let more = b.iter().filter(|(key, _)| !a.contains_key(*key));
            differences.extend(more.map(|(key, value)| format!("{place}.{key}: added {value}")));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (one, other)) in a.iter().zip(b).enumerate() {
                compare(&format!("{place}[{index}]"), one, other, differences);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (a, b) if a == b => {}
        (a, b) => differences.push(format!("{place}: {a} became {b}")),
    }
}
