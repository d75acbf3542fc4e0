//! All validation errors of a request: HTTP 422 with a list in FastAPI's format, which clients of
//! Chat Shell parse.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// The maximum number of errors reported for one request. A list with a million invalid items must
/// not cause a million errors.
const MOST_FAULTS: usize = 100;
/// The maximum number of characters shown per text.
const SHOWN_CHARACTERS: usize = 100;
/// The maximum number of members or items shown per container.
const SHOWN_ITEMS: usize = 8;
/// The maximum nesting of the shown containers.
const SHOWN_LEVELS: usize = 2;
/// Members whose values are never shown.
const SECRETS: [&str; 4] = ["api_key", "auth", "auth_token", "default_headers"];

/// A segment of the path to a value.
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

/// An error in a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ValidationIssue {
    /// The kind of error, as pydantic names it.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The path of the value, starting with `body`.
    loc: Vec<PathSegment>,
    /// The message.
    msg: String,
    /// The invalid value, shortened and without secrets.
    input: Value,
    /// The limits that the value violates.
    #[serde(skip_serializing_if = "Option::is_none")]
    ctx: Option<Value>,
}

/// All errors of a request, and its unknown members, which are only reported.
#[derive(Debug, Default)]
pub(super) struct ValidationReport {
    found: Vec<ValidationIssue>,
    /// Descriptions of unknown members.
    unknown: Vec<String>,
}

impl ValidationReport {
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    /// Adds a description of an unknown member.
    pub(super) fn note(&mut self, unknown: String) {
        if self.unknown.len() < MOST_FAULTS {
            self.unknown.push(unknown);
        }
    }

    /// Returns the descriptions of unknown members.
    pub(super) fn unknown(self) -> Vec<String> {
        self.unknown
    }

    /// Returns the response body.
    pub(super) fn body(&self) -> Value {
        json!({"detail": self.found})
    }

    /// Adds an error for the value at a path.
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
        // Errors contain the input, as in FastAPI. The values of these members must never be shown.
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

/// Returns the body for a request that is not JSON.
pub(super) fn not_json(error: &serde_json::Error) -> Value {
    json!({"detail": [{
        "type": "json_invalid", "loc": ["body"], "msg": "JSON decode error", "input": {},
        "ctx": {"error": error.to_string()},
    }]})
}

/// Returns the body for a request without a body.
pub(super) fn no_body() -> Value {
    json!({"detail": [{"type": "missing", "loc": ["body"], "msg": "Field required", "input": null}]})
}

/// Shortens a value for error messages and removes secrets.
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
