//! A store in which a label selects the served versions.

use std::collections::BTreeSet;
use std::sync::Arc;

use quillet_core::history::{LATEST, Labels, PRODUCTION, labelled_definition};
use quillet_core::nearest;
use quillet_core::store::{EntryKind, Store, StoreEntry};

use crate::failure::CliError;
use crate::overlay::Overlay;

/// Returns whether definitions of the store have labels.
pub(crate) async fn has_any(store: &dyn Store) -> Result<bool, CliError> {
    Ok(!store.keys(EntryKind::Label).await?.is_empty())
}

/// Returns a store that serves the versions with a label by default, and the usual versions of
/// definitions without it.
///
/// # Errors
/// No prompt has the label, or the store is unavailable.
pub(crate) async fn store_at_label(
    store: Arc<dyn Store>,
    label: &str,
) -> Result<Arc<dyn Store>, CliError> {
    let entries = store.load(EntryKind::Label).await?;
    let mut over = Overlay::new(store);
    let (mut known, mut is_known) = (BTreeSet::new(), label == LATEST);
    for entry in entries {
        let is_of_prompt =
            labelled_definition(&entry.key).is_some_and(|(kind, _)| kind == EntryKind::Prompt);
        let labels = Labels::parse(&entry.text);
        let Some(mut labels) = labels.ok().filter(|_| is_of_prompt) else {
            continue;
        };
        known.extend(labels.0.keys().cloned());
        match labels.get(label).cloned() {
            Some(target) => {
                is_known = true;
                // Prompts serve the version that the label production points to, also in calls from
                // other prompts, so production is set to the target.
                labels.0.insert(PRODUCTION.to_owned(), target);
            }
            // Without the label production, a prompt serves its newest version.
            None if label == LATEST => drop(labels.0.remove(PRODUCTION)),
            None => continue,
        }
        let entry = StoreEntry {
            text: labels.to_text().into(),
            ..entry
        };
        over.add(EntryKind::Label, entry);
    }
    if is_known {
        return Ok(Arc::new(over));
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = nearest(label, known.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
    let known = match known.as_slice() {
        [] => "no prompt has labels".to_owned(),
        known => format!("known labels: {}, {LATEST}", known.join(", ")),
    };
    let message = format!("unknown label {label:?}: no prompt has it; {known}{near}");
    Err(CliError::Usage(message))
}
