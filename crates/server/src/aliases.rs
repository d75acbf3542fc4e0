//! Aliases of prompts: the member `aliases` of a definition, such as the `pmpt_…` id of an OpenAI
//! prompt.
//!
//! An alias is used only if no prompt has the requested id. Aliases are collected once per
//! snapshot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use quillet_core::history::VersionSelector;
use quillet_core::lock::lock;
use quillet_prompt::CatalogueSnapshot;
use serde_json::Value;

/// The aliases of the latest snapshot.
#[derive(Debug, Default)]
pub(crate) struct Aliases(Mutex<AliasCache>);

#[derive(Debug, Default)]
struct AliasCache {
    of: Weak<CatalogueSnapshot>,
    ids: Arc<HashMap<String, Arc<str>>>,
}

impl Aliases {
    /// Replaces an alias with the prompt id and keeps its version selector.
    pub(crate) fn resolve(&self, snapshot: &Arc<CatalogueSnapshot>, named: &str) -> String {
        let (name, mark) = match VersionSelector::split_id(named) {
            Some((name, Ok(mark))) => (name, Some(mark)),
            _ => (named, None),
        };
        // An existing id always takes precedence over an alias, so that an alias cannot hide a
        // prompt.
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
        let mut known = lock(&self.0);
        // The weak pointer keeps the allocation, so no other snapshot can get that address.
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
        // Check for the word first, because few definitions have aliases and parsing all of them
        // would be slow.
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
                tracing::warn!(alias = %name, id = %definition.id, "duplicate alias, already used by {other}");
                continue;
            }
            ids.insert(name, definition.id.clone());
        }
    }
    ids
}
