//! Other names of prompts: the member `aliases` of a definition, such as the `pmpt_…` that a prompt
//! had at OpenAI.
//!
//! They are looked for where a client names a prompt that there is not under that id, and found in
//! the texts of the definitions once for each snapshot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use quillet_core::history::VersionSelector;
use quillet_prompt::CatalogueSnapshot;
use serde_json::Value;

/// The aliases of the snapshot that was asked last.
#[derive(Debug, Default)]
pub(crate) struct Aliases(Mutex<AliasCache>);

#[derive(Debug, Default)]
struct AliasCache {
    of: Weak<CatalogueSnapshot>,
    ids: Arc<HashMap<String, Arc<str>>>,
}

impl Aliases {
    /// What a client names, with the id in the place of an alias. A mark behind it stays.
    pub(crate) fn resolve(&self, snapshot: &Arc<CatalogueSnapshot>, named: &str) -> String {
        let (name, mark) = match VersionSelector::divide(named) {
            Some((name, Ok(mark))) => (name, Some(mark)),
            _ => (named, None),
        };
        if snapshot.prompts.get(name).is_some() {
            return named.to_owned();
        }
        match (self.known(snapshot).get(name), mark) {
            (None, _) => named.to_owned(),
            (Some(id), None) => id.to_string(),
            (Some(id), Some(mark)) => format!("{id}@{mark}"),
        }
    }

    fn known(&self, snapshot: &Arc<CatalogueSnapshot>) -> Arc<HashMap<String, Arc<str>>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // While the weak pointer is there, no other snapshot gets that address.
        if known.of.as_ptr() != Arc::as_ptr(snapshot) {
            *known = AliasCache {
                of: Arc::downgrade(snapshot),
                ids: Arc::new(all(snapshot)),
            };
        }
        known.ids.clone()
    }
}

fn all(snapshot: &CatalogueSnapshot) -> HashMap<String, Arc<str>> {
    let mut ids: HashMap<String, Arc<str>> = HashMap::new();
    for definition in snapshot.prompts.values() {
        if !definition.text.contains("\"aliases\"") {
            continue;
        }
        let read: Result<Value, _> = serde_json::from_str(&definition.text);
        let names = read
            .ok()
            .and_then(|read| Some(read.get("aliases")?.as_array()?.clone()));
        for name in names.into_iter().flatten() {
            let Value::String(name) = name else {
                continue;
            };
            if let Some(other) = ids.get(&name) {
                tracing::warn!(alias = %name, id = %definition.id, "an alias is that of {other} already");
                continue;
            }
            ids.insert(name, definition.id.clone());
        }
    }
    ids
}
