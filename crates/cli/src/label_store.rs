//! A store as those see it who name a label.

use std::collections::BTreeSet;
use std::sync::Arc;

use quillet_core::history::{LATEST, Labels, PRODUCTION, labelled};
use quillet_core::nearest;
use quillet_core::store::{EntryKind, Store, StoreEntry};

use crate::failure::CliError;
use crate::overlay::Overlay;

/// Whether definitions of a store have labels, so that versions differ in who gets them.
pub(crate) async fn has_any(store: &dyn Store) -> Result<bool, CliError> {
    Ok(!store.keys(EntryKind::Label).await?.is_empty())
}

/// The store in which whoever names no version gets the one that a label points at, and where it
/// points at none, what they get anyway.
///
/// # Errors
/// No prompt has that label; the store does not answer.
pub(crate) async fn store_at_label(
    store: Arc<dyn Store>,
    label: &str,
) -> Result<Arc<dyn Store>, CliError> {
    let entries = store.load(EntryKind::Label).await?;
    let mut over = Overlay::new(store);
    let (mut known, mut is_known) = (BTreeSet::new(), label == LATEST);
    for entry in entries {
        let is_of_prompt = labelled(&entry.key).is_some_and(|(kind, _)| kind == EntryKind::Prompt);
        let labels = Labels::parse(&entry.text);
        let Some(mut labels) = labels.ok().filter(|_| is_of_prompt) else {
            continue;
        };
        known.extend(labels.0.keys().cloned());
        match labels.get(label).cloned() {
            Some(target) => {
                is_known = true;
                labels.0.insert(PRODUCTION.to_owned(), target);
            }
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
        known => format!("there are {}, {LATEST}", known.join(", ")),
    };
    let message = format!("no prompt has the label {label:?}; {known}{near}");
    Err(CliError::Usage(message))
}
