//! What is wrong with a request, all of it at once: HTTP 422 and a list in the shape that clients
//! of Chat Shell read (FastAPI's).

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Most faults that are reported for one request: a list of a million wrong items is not answered
/// with a million faults.
const MOST_FAULTS: usize = 100;
/// Characters of a text that are shown.
const SHOWN_CHARACTERS: usize = 100;
/// Members and items of a container that are shown.
const SHOWN_ITEMS: usize = 8;
/// Levels of containers that are shown.
const SHOWN_LEVELS: usize = 2;
/// Members whose values are never shown.
const SECRETS: [&str; 4] = ["api_key", "auth", "auth_token", "default_headers"];

/// A step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum PathSegment {
    Name(String),
    Index(usize),
}

impl std::fmt::Display for PathSegment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PathSegment::Name(name) => f.write_str(name),
            PathSegment::Index(index) => write!(f, "{index}"),
        }
    }
}

impl From<&str> for PathSegment {
    fn from(name: &str) -> Self {
        PathSegment::Name(name.to_owned())
    }
}

impl From<usize> for PathSegment {
    fn from(index: usize) -> Self {
        PathSegment::Index(index)
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ValidationIssue {
    /// What kind of fault, in pydantic's word.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The way to the value, from `body`.
    loc: Vec<PathSegment>,
    /// What is wrong.
    msg: String,
    /// What was given, shortened and without secrets.
    input: Value,
    /// The bounds that were broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    ctx: Option<Value>,
}

/// Everything that is wrong, and what is reported without being refused.
#[derive(Debug, Default)]
pub(super) struct ValidationReport {
    found: Vec<ValidationIssue>,
    /// Members that nobody reads, in words.
    unknown: Vec<String>,
}

impl ValidationReport {
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    /// Notes a member that nobody reads.
    pub(super) fn note(&mut self, unknown: String) {
        if self.unknown.len() < MOST_FAULTS {
            self.unknown.push(unknown);
        }
    }

    /// Members that nobody reads, in words.
    pub(super) fn unknown(self) -> Vec<String> {
        self.unknown
    }

    /// The body of the answer.
    pub(super) fn body(&self) -> Value {
        json!({"detail": self.found})
    }

    /// Notes that the value at a place is not what it should be.
    pub(super) fn add(
        &mut self,
        kind: &'static str,
        at: &[PathSegment],
        msg: String,
        input: &Value,
    ) {
        self.add_with(kind, at, msg, input, None);
    }

    pub(super) fn add_with(
        &mut self,
        kind: &'static str,
        at: &[PathSegment],
        msg: String,
        input: &Value,
        ctx: Option<Value>,
    ) {
        if self.found.len() == MOST_FAULTS {
            return;
        }
        // Errors echo the input, as FastAPI does; values below these members must never be echoed.
        let is_secret = |step: &PathSegment| matches!(step, PathSegment::Name(n) if SECRETS.contains(&n.as_str()));
        let input = if at.iter().any(is_secret) {
            hidden(input)
        } else {
            shown(input, SHOWN_LEVELS)
        };
        self.found.push(ValidationIssue {
            kind,
            loc: at.to_vec(),
            msg,
            input,
            ctx,
        });
    }
}

/// The body is not JSON.
pub(super) fn not_json(error: &serde_json::Error) -> Value {
    json!({"detail": [{
        "type": "json_invalid", "loc": ["body"], "msg": "JSON decode error", "input": {},
        "ctx": {"error": error.to_string()},
    }]})
}

/// There is no body.
pub(super) fn no_body() -> Value {
    json!({"detail": [{"type": "missing", "loc": ["body"], "msg": "Field required", "input": null}]})
}

/// A value, short enough for people and without secrets.
fn shown(value: &Value, levels: usize) -> Value {
    match value {
        Value::String(text) => short(text),
        Value::Array(_) | Value::Object(_) if levels == 0 => Value::from("…"),
        Value::Array(items) => {
            let items = items.iter().take(SHOWN_ITEMS);
            items.map(|item| shown(item, levels - 1)).collect()
        }
        Value::Object(members) => Value::Object(members_shown(members, levels)),
        plain => plain.clone(),
    }
}

fn members_shown(members: &Map<String, Value>, levels: usize) -> Map<String, Value> {
    let member = |(name, value): (&String, &Value)| {
        let value = if SECRETS.contains(&name.as_str()) {
            hidden(value)
        } else {
            shown(value, levels - 1)
        };
        let name: String = name.chars().take(SHOWN_CHARACTERS).collect();
        (name, value)
    };
    members.iter().take(SHOWN_ITEMS).map(member).collect()
}

fn hidden(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        _ => Value::from("[secret]"),
    }
}

fn short(text: &str) -> Value {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => Value::from(format!("{}…", &text[..end])),
        None => Value::from(text),
    }
}
