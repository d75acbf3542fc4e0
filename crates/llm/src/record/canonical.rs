//! Canonical form of requests for comparison, and the differences between two of them.

use quillet_core::chat::ChatRequest;
use serde_json::{Map, Value, json};

use super::scrub;

/// Maximum number of characters of a value in a difference.
const SHOWN: usize = 80;

/// Returns the request as JSON without secrets, with members sorted by name.
pub(super) fn form(request: &ChatRequest) -> Value {
    let messages = serde_json::to_value(&request.messages).unwrap_or_default();
    let options = serde_json::to_value(&request.options).unwrap_or_default();
    let mut form = json!({"model": request.model, "messages": messages, "options": options});
    scrub::value(&mut form);
    sorted(form)
}

/// Sorts the members of every object by name.
pub(super) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let members = members
                .into_iter()
                .map(|(name, value)| (name, sorted(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// Differences between two requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Differences {
    /// Number of differing values.
    pub(super) count: usize,
    /// Description of the first difference: `messages[2].content: recorded "…", asked "…"`.
    pub(super) first: String,
}

impl Differences {
    pub(super) fn between(recorded: &Value, asked: &Value) -> Self {
        let mut found = Differences {
            count: 0,
            first: String::new(),
        };
        found.compare(&mut String::new(), Some(recorded), Some(asked));
        found
    }

    fn compare(&mut self, path: &mut String, recorded: Option<&Value>, asked: Option<&Value>) {
        match (recorded, asked) {
            (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                let added = theirs.keys().filter(|name| !ours.contains_key(*name));
                for name in ours.keys().chain(added) {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.below(
                        path,
                        &format!("{dot}{name}"),
                        ours.get(name),
                        theirs.get(name),
                    );
                }
            }
            (Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
                for index in 0..ours.len().max(theirs.len()) {
                    self.below(
                        path,
                        &format!("[{index}]"),
                        ours.get(index),
                        theirs.get(index),
                    );
                }
            }
            (ours, theirs) if ours != theirs => self.note(path, ours, theirs),
            _ => {}
        }
    }

    fn below(
        &mut self,
        path: &mut String,
        step: &str,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) {
        let length = path.len();
        path.push_str(step);
        self.compare(path, ours, theirs);
        path.truncate(length);
    }

    fn note(&mut self, path: &str, recorded: Option<&Value>, asked: Option<&Value>) {
        self.count += 1;
        if self.count > 1 {
            return;
        }
        let common = match (recorded, asked) {
            (Some(Value::String(ours)), Some(Value::String(theirs))) => {
                let pairs = ours.chars().zip(theirs.chars());
                pairs.take_while(|(ours, theirs)| ours == theirs).count()
            }
            _ => 0,
        };
        let (recorded, asked) = (shown(recorded, common), shown(asked, common));
        self.first = format!("{path}: recorded {recorded}, asked {asked}");
    }
}

/// Formats a value for an error message, starting shortly before the first difference.
fn shown(value: Option<&Value>, common: usize) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let from = common.saturating_sub(SHOWN / 4);
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let kept: String = text.chars().skip(from).take(SHOWN).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if text.chars().nth(from + SHOWN).is_some() {
        "…"
    } else {
        ""
    };
    match value {
        Value::String(_) => format!("{:?}", format!("{before}{kept}{after}")),
        _ => format!("{before}{kept}{after}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_place_and_both_sides() {
        let recorded = json!({"model": "a", "messages": [{"content": "x".repeat(200) + "one"}, {"role": "user"}]});
        let long = format!(
            "messages[0].content: recorded \"…{0}one\", asked \"…{0}two\"",
            "x".repeat(20)
        );
        for (asked, count, first) in [
            (recorded.clone(), 0, ""),
            (
                json!({"model": "b", "messages": recorded["messages"]}),
                1,
                r#"model: recorded "a", asked "b""#,
            ),
            (
                json!({"model": "a", "messages": [{"content": "x".repeat(200) + "two"}, {"role": "user"}]}),
                1,
                long.as_str(),
            ),
            (
                json!({"model": "a", "messages": [recorded["messages"][0]], "n": 2}),
                2,
                r#"messages[1]: recorded {"role":"user"}, asked nothing"#,
            ),
        ] {
            let first = first.to_owned();
            assert_eq!(
                Differences::between(&recorded, &asked),
                Differences { count, first }
            );
        }
    }

    #[test]
    fn the_order_of_members_does_not_matter() {
        let one: Value = serde_json::from_str(r#"{"b": [{"d": 1, "c": 2}], "a": 3}"#).unwrap();
        assert_eq!(sorted(one).to_string(), r#"{"a":3,"b":[{"c":2,"d":1}]}"#);
    }
}
