//! Ids of tools by their function names.

use std::collections::BTreeMap;

use quillet_core::store::EntryKind;
use quillet_prompt::CatalogueSnapshot;

/// Ids of stored tools by function name.
pub(crate) fn tool_ids(snapshot: &CatalogueSnapshot) -> BTreeMap<&str, &str> {
    let named = snapshot.tools.values().filter_map(|definition| {
        let entry = definition.usable(EntryKind::Tool).ok()?;
        Some((&*entry.name, &*definition.id))
    });
    named.collect()
}

/// Returns the id of a tool by its id or function name. A tool outside the store, such as a
/// database, has its function name as its id.
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
