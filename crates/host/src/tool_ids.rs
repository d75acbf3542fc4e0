//! Ids of tools by the names that models and templates know.

use std::collections::BTreeMap;

use quillet_core::store::EntryKind;
use quillet_prompt::CatalogueSnapshot;

/// Ids of stored tools by the names of their functions.
pub(crate) fn tool_ids(snapshot: &CatalogueSnapshot) -> BTreeMap<&str, &str> {
    let named = snapshot.tools.values().filter_map(|definition| {
        let entry = definition.usable(EntryKind::Tool).ok()?;
        Some((&*entry.name, &*definition.id))
    });
    named.collect()
}

/// The id of a tool by its id or the name of its function; one that is in no store, such as a
/// database's, has its function's name for one.
pub(crate) fn tool_id(snapshot: &CatalogueSnapshot, name: &str) -> String {
    if snapshot.tools.get(name).is_some() {
        return name.to_owned();
    }
    tool_ids(snapshot)
        .get(name)
        .copied()
        .unwrap_or(name)
        .to_owned()
}
