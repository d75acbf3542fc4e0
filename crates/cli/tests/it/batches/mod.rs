//! Batches in real processes: over SQLite and Redis, with killed workers, and on the command line.

mod command;
#[cfg(feature = "redis")]
mod handed;
#[cfg(feature = "redis")]
mod killed;
mod provider;
#[cfg(feature = "redis")]
pub(crate) mod served;

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// A row with a model request.
fn row(name: &str, model: &str) -> String {
    let row = json!({"custom_id": name, "method": "POST", "url": "/v1/chat/completions",
        "body": {"model": model, "messages": [{"role": "user", "content": name}]}});
    format!("{row}\n")
}

/// Returns the lines of a file by id. Each id must occur once.
fn lines(text: &str) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let id = line["custom_id"].as_str().unwrap().to_owned();
        assert!(
            all.insert(id.clone(), line).is_none(),
            "{id} is there twice"
        );
    }
    all
}
