//! Fetches and parses versions of prompts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use quillet_core::Diagnostic;
use quillet_core::history::{DefinitionContent, VersionRecord, VersionSelector};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry, StoreError};

use super::VersionedPrompt;
use crate::build::{Builder, Candidate};
use crate::snapshot::{CatalogueSnapshot, PromptOrigin};

impl VersionedPrompt {
    /// Parses a version of the prompt that is currently stored at `origin` in this folder.
    pub(crate) fn read(
        builder: &Builder,
        id: &Arc<str>,
        key: &EntryKey,
        origin: &Arc<str>,
        folder: Option<&Arc<Path>>,
        number: u64,
        content: DefinitionContent,
    ) -> Self {
        let entry = StoreEntry {
            companion: content.companion,
            folder: folder.cloned(),
            ..StoreEntry::new(key.clone(), content.text, renamed(origin, &content.file))
        };
        let (read, _) = builder.read(id, &entry);
        VersionedPrompt {
            number: Some(number),
            origin: entry.origin,
            text: entry.text,
            read,
        }
    }

    /// Parses a version of a prompt in a snapshot. Returns `None` if the version is a removal.
    pub(crate) fn of(
        builder: &Builder,
        snapshot: &CatalogueSnapshot,
        id: &Arc<str>,
        key: &EntryKey,
        kept: VersionRecord,
    ) -> Option<Self> {
        let now = snapshot.prompts.get(id)?;
        let number = kept.version.number;
        Some(VersionedPrompt::read(
            builder,
            id,
            key,
            &now.origin,
            snapshot.folder_of(id),
            number,
            kept.content?,
        ))
    }

    /// Creates an invalid version, for a label that points to a missing version.
    pub(crate) fn absent(id: &str, origin: &Arc<str>, number: u64) -> Self {
        let message = format!("a label points to version {number} of {id}, which does not exist");
        let source = format!("prompt {id}");
        let found = Diagnostic::error("history.version", &source, message)
            .help("move the label to a version that `quillet log` lists");
        VersionedPrompt {
            number: Some(number),
            origin: origin.clone(),
            text: "".into(),
            read: Err(vec![found]),
        }
    }

    pub(crate) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            origin: PromptOrigin::Direct,
            place: &self.origin,
            text: &self.text,
            read: match &self.read {
                Ok((prompt, found)) => Ok((&**prompt, found)),
                Err(found) => Err(found),
            },
            shared: self.read.as_ref().ok().map(|(prompt, _)| prompt),
            version: self.number,
        }
    }
}

/// Origin of a version: its own file name, in the current file's folder.
fn renamed(origin: &Arc<str>, file: &str) -> Arc<str> {
    if file.is_empty() {
        return origin.clone();
    }
    match origin.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{file}").into(),
        None => file.into(),
    }
}

/// Fetches these pins from a store's history, in the same order.
///
/// # Errors
/// The store is unavailable.
pub(crate) async fn fetch(
    store: &dyn Store,
    wanted: &[(EntryKey, VersionSelector)],
) -> Result<Vec<Option<VersionRecord>>, StoreError> {
    let Some(history) = store.history() else {
        return Ok(vec![None; wanted.len()]);
    };
    let mut numbers = Vec::with_capacity(wanted.len());
    for (key, mark) in wanted {
        let number = match mark {
            VersionSelector::Number(number) => Some(*number),
            VersionSelector::Digest(digits) => {
                let found = history.find(EntryKind::Prompt, key, digits).await?;
                found.map(|version| version.number)
            }
            // Labels are resolved from the snapshot and never fetched.
            VersionSelector::Label(_) => None,
        };
        numbers.push(number);
    }
    let asked = wanted.iter().zip(&numbers);
    let asked: Vec<(EntryKey, u64)> = asked
        .filter_map(|((key, _), number)| Some((key.clone(), (*number)?)))
        .collect();
    // All pins are fetched in one call.
    let kept = history.load_versions(EntryKind::Prompt, &asked).await?;
    let mut known: BTreeMap<(EntryKey, u64), VersionRecord> = BTreeMap::new();
    known.extend(
        asked
            .into_iter()
            .zip(kept)
            .filter_map(|(at, kept)| Some((at, kept?))),
    );
    let found = wanted.iter().zip(numbers);
    Ok(found
        .map(|((key, _), number)| known.get(&(key.clone(), number?)).cloned())
        .collect())
}
