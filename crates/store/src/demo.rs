//! The examples as a store in memory, so that a first try needs no files.

use std::collections::BTreeMap;

use quillet_core::store::{Key, Kind};

use crate::MemoryStore;
use crate::folder::document;

/// Every file of `examples/demo`, by folder and path.
const FILES: &[(Kind, &str, &str)] = &[];

/// The same entries as `dir:examples/demo` has.
pub(crate) fn store() -> MemoryStore {
    let entries = FILES.iter().filter_map(|(kind, path, content)| {
        let (stem, form) = document::form_of(*kind, path)?;
        let key = Key::new(stem.replace('/', ":"));
        let origin = format!("demo/{path}");
        let entry = document::entry(key.clone(), &origin, form, content);
        Some(((*kind, key), entry))
    });
    MemoryStore::named("demo in memory", entries.collect::<BTreeMap<_, _>>())
}
