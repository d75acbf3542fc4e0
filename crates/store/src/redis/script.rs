//! Atomic Lua scripts, and parsers of their replies.

use redis::{ToRedisArgs, Value};

use super::connections::KeyedCommand;

/// Returns the command for a script and its keys, which must share a hash slot. Redis caches
/// compiled scripts, so the only additional cost is sending the text.
pub(crate) fn script<A: ToRedisArgs>(text: &str, keys: &[&str], arguments: &[A]) -> KeyedCommand {
    let mut command = redis::cmd("EVAL");
    command.arg(text).arg(keys.len()).arg(keys).arg(arguments);
    KeyedCommand {
        name: keys.first().copied().unwrap_or_default().to_owned(),
        command,
    }
}

/// Parses a number; 0 if the value is not a number.
pub(crate) fn number(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        Value::BulkString(bytes) => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_default(),
        Value::Double(number) => *number as i64,
        _ => 0,
    }
}

/// Parses a number; 0 if it is negative.
pub(crate) fn count(value: &Value) -> u64 {
    u64::try_from(number(value)).unwrap_or_default()
}

/// Converts a list; empty if the value is not a list.
pub(crate) fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        _ => Vec::new(),
    }
}

/// Converts a text; `None` if the value is not UTF-8 text.
pub(crate) fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// Parses members with their scores, which form a flat list, or pairs in RESP3.
pub(crate) fn pairs(reply: Value) -> Vec<(String, u64)> {
    let flat = list(reply).into_iter().flat_map(|value| match value {
        Value::Array(pair) => pair,
        single => vec![single],
    });
    let flat: Vec<Value> = flat.collect();
    let pair = |pair: &[Value]| match pair {
        [id, score] => Some((text(id.clone())?, count(score))),
        _ => None,
    };
    flat.chunks(2).filter_map(pair).collect()
}
