//! Removes text that looks like a secret: values of members with names such as `api_key`, all
//! values in `headers`, and words with the prefix of a known kind of API key.

use std::borrow::Cow;

use serde_json::Value;

/// Replacement for a secret.
const SCRUBBED: &str = "[scrubbed]";
/// Parts of member names with secret values, in lowercase and with `_`.
const NAMES: [&str; 9] = [
    "api_key",
    "apikey",
    "authorization",
    "secret",
    "password",
    "access_token",
    "credential",
    "cookie",
    "private_key",
];
/// Prefixes of known kinds of API keys.
const PREFIXES: [&str; 10] = [
    "sk-",
    "AIza",
    "gsk_",
    "ghp_",
    "gho_",
    "github_pat_",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "hf_",
];
/// Minimum length of an API key.
const SHORTEST: usize = 16;

/// Removes the secrets from a value.
pub(super) fn value(value: &mut Value) {
    match value {
        Value::String(given) => {
            if let Cow::Owned(scrubbed) = text(given) {
                *given = scrubbed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(text) if is_secret(name) => *text = SCRUBBED.to_owned(),
                    Value::Object(_) if name.eq_ignore_ascii_case("headers") => all(member),
                    _ => self::value(member),
                }
            }
        }
        _ => {}
    }
}

/// Replaces every value of an object.
fn all(headers: &mut Value) {
    let members = headers.as_object_mut().into_iter().flatten();
    for (_, member) in members {
        *member = SCRUBBED.into();
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    name == "token" || NAMES.iter().any(|part| name.contains(part))
}

/// Removes the secrets from a text.
pub(super) fn text(given: &str) -> Cow<'_, str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut scrubbed = String::new();
    let mut kept = 0;
    let mut at = 0;
    let mut bearer = false;
    while let Some(start) = given[at..].find(is_part).map(|offset| at + offset) {
        let rest = &given[start..];
        let end = start + rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &given[start..end];
        let known = PREFIXES.iter().any(|prefix| word.starts_with(prefix));
        if word.len() >= SHORTEST && (known || bearer) {
            scrubbed.push_str(&given[kept..start]);
            scrubbed.push_str(SCRUBBED);
            kept = end;
        }
        bearer = word.eq_ignore_ascii_case("bearer");
        at = end;
    }
    if kept == 0 {
        return Cow::Borrowed(given);
    }
    scrubbed.push_str(&given[kept..]);
    Cow::Owned(scrubbed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_taken_out() {
        let key = "sk-proj-abcdefghijklmnop";
        let mut given = json!({
            "messages": [{"content": format!("my key is {key}, or Bearer abcdefgh.ijklmnop.qrst!")}],
            "tools": [{"type": "mcp", "headers": {"X-Any": "canary"}, "authorization": "canary"}],
            "options": {"X-Api-Key": "canary", "token": "canary", "max_tokens": 5},
            "schema": {"api_key": {"type": "string"}},
            "native": {"signature": "EqQBCkYIsigabcdefghijklmnop=="},
        });
        value(&mut given);
        let expected = json!({
            "messages": [{"content": "my key is [scrubbed], or Bearer [scrubbed]!"}],
            "tools": [{"type": "mcp", "headers": {"X-Any": SCRUBBED}, "authorization": SCRUBBED}],
            "options": {"X-Api-Key": SCRUBBED, "token": SCRUBBED, "max_tokens": 5},
            "schema": {"api_key": {"type": "string"}},
            "native": {"signature": "EqQBCkYIsigabcdefghijklmnop=="},
        });
        assert_eq!(given, expected);
    }

    #[test]
    fn ordinary_texts_stay() {
        for given in [
            "",
            "sk-short",
            "a task-oriented-conversation-of-words",
            "Bearer of news",
            "日本語",
        ] {
            assert_eq!(text(given), given);
        }
    }
}
