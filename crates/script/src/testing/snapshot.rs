//! Snapshots: requests in a readable text form, with the messages as sent to the model.

use std::fmt;
use std::fmt::Write as _;

use quillet_core::{Map, Span, Value};

use super::expected_value::text_of;
use super::report::Mismatch;

/// Storage for snapshots.
pub trait Snapshots: Send + Sync + fmt::Debug {
    /// Returns the text that is stored under a name, or `None`. An implementation that updates
    /// snapshots stores `text` and returns it.
    ///
    /// # Errors
    /// The snapshot cannot be read or written.
    fn compare_or_write(&self, name: &str, text: &str) -> Result<Option<String>, String>;
}

// Request fields that are not listed under the settings. `messages` is formatted separately, and
// `stream` is left out so that it does not affect the snapshot.
const TOLD: [&str; 2] = ["messages", "stream"];

/// Formats all requests of a run.
pub(super) fn rendered(requests: &[Map]) -> String {
    let mut text = String::new();
    for (number, request) in (1..).zip(requests) {
        // Writing to a `String` cannot fail, so the results are ignored.
        let _ = writeln!(text, "# Request {number}\n");
        for (key, value) in request {
            if !TOLD.contains(&&**key) {
                let _ = writeln!(text, "{key}: {}", text_of(value));
            }
        }
        if let Some(Value::List(messages)) = request.get("messages") {
            messages.iter().for_each(|message| add(&mut text, message));
        }
    }
    text
}

fn add(text: &mut String, message: &Value) {
    let field = |name: &str| message.as_map().and_then(|map| map.get(name));
    let role = field("role").map(text_of).unwrap_or_default();
    let content = field("content").map(text_of).unwrap_or_default();
    let _ = writeln!(text, "\n## {role}\n\n{}\n", content.trim_end());
    if let Some(calls) = field("tool_calls") {
        let _ = writeln!(text, "calls: {}\n", text_of(calls));
    }
}

/// Returns the number of the first different line, from 1.
fn first_difference(one: &str, other: &str) -> usize {
    let same = one
        .lines()
        .zip(other.lines())
        .take_while(|(one, other)| one == other);
    same.count() + 1
}

/// Compares the requests with the stored snapshot.
pub(super) fn differences(kept: Option<&str>, text: &str, span: Span) -> Vec<Mismatch> {
    let Some(kept) = kept else {
        let expected = "a snapshot to compare with; --update writes it";
        return vec![Mismatch::new("requests", expected, None, span)];
    };
    if kept == text {
        return Vec::new();
    }
    let line = first_difference(kept, text);
    vec![Mismatch {
        path: format!("requests, line {line} of the snapshot"),
        expected: kept.to_owned(),
        actual: Some(text.to_owned()),
        span,
    }]
}
