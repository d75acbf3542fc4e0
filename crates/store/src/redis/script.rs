//! Scripts that Redis runs all or not at all, and what they answer.

use redis::{ToRedisArgs, Value};

use super::connections::KeyedCommand;

/// A script and the keys that it changes, all in one slot. Redis keeps what it has
/// compiled, so the text costs no more than its way.
pub(crate) fn script<A: ToRedisArgs>(text: &str, keys: &[&str], arguments: &[A]) -> KeyedCommand {
    let mut command = redis::cmd("EVAL");
    command.arg(text).arg(keys.len()).arg(keys).arg(arguments);
    KeyedCommand {
        name: keys.first().copied().unwrap_or_default().to_owned(),
        command,
    }
}

/// A number, or 0 for what is none.
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

/// A number that is never below 0.
pub(crate) fn count(value: &Value) -> u64 {
    u64::try_from(number(value)).unwrap_or_default()
}

/// A list, or an empty one for what is none.
pub(crate) fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        _ => Vec::new(),
    }
}

/// A text; `None` for what is none in UTF-8.
pub(crate) fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// Members and their scores, which come one after the other, or in pairs from RESP3.
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
