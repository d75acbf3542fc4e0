//! Version number of a stored definition, which only the history contains.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quillet_core::clock;
use quillet_core::history::STORE;
use quillet_core::store::{EntryKey, EntryKind, Store, StoreError};
use tokio::time::timeout;

use crate::recent::LruCache;
use crate::revision::Revision;
use crate::snapshot::{CatalogueSnapshot, Definition, DefinitionState, PromptEntry, PromptOrigin};

/// Maximum number of cached version numbers.
const MOST: usize = 10_000;
/// Maximum time that a request waits for its version number.
const PATIENCE: Duration = Duration::from_millis(100);
/// Time without lookups after a failure, so that a store that is unavailable or rejects versions
/// delays only one request.
const PAUSE_MS: u64 = 10_000;

/// Cached version numbers by id and revision.
#[derive(Debug)]
pub(crate) struct VersionNumbers {
    known: LruCache<(Arc<str>, Revision), u64>,
    /// Earliest time of the next lookup, in milliseconds since 1970.
    again_ms: AtomicU64,
}

impl Default for VersionNumbers {
    fn default() -> Self {
        VersionNumbers {
            known: LruCache::new(MOST),
            again_ms: AtomicU64::new(0),
        }
    }
}

impl VersionNumbers {
    /// Returns the version number of a definition. If the history does not contain it yet, it is
    /// added. Returns `None` if there is no history or it does not respond in time.
    pub(crate) async fn of(
        &self,
        store: &dyn Store,
        snapshot: &CatalogueSnapshot,
        definition: &Definition<PromptEntry>,
    ) -> Option<u64> {
        let DefinitionState::Valid(entry) = &definition.state else {
            return None;
        };
        if entry.version.is_some() || entry.origin == PromptOrigin::Extension {
            return entry.version;
        }
        // Without a history there are no numbers, and nothing to wait for.
        store.history()?;
        let at = (definition.id.clone(), definition.revision);
        if let Some(number) = self.known.get(&at) {
            return Some(number);
        }
        if clock::millis() < self.again_ms.load(Ordering::Relaxed) {
            return None;
        }
        let key = snapshot.key_of(&definition.id);
        let asked = timeout(PATIENCE, ask(store, &key, &definition.text)).await;
        match asked {
            Ok(Ok(number)) => {
                let number = number?;
                self.known.insert(&Arc::new(at), number);
                Some(number)
            }
            Ok(Err(error)) => self.give_up(&error.message),
            Err(_) => self.give_up("no answer in time"),
        }
    }

    fn give_up(&self, why: &str) -> Option<u64> {
        tracing::warn!(%why, "answers omit version numbers for a while");
        self.again_ms
            .store(clock::millis() + PAUSE_MS, Ordering::Relaxed);
        None
    }
}

/// Returns the number of the newest version if it contains this text.
async fn ask(store: &dyn Store, key: &EntryKey, text: &str) -> Result<Option<u64>, StoreError> {
    let Some(history) = store.history() else {
        return Ok(None);
    };
    let keys = std::slice::from_ref(key);
    // Adds the current text to the history if it has no version yet.
    history.observe(EntryKind::Prompt, keys, STORE).await?;
    let newest = history.versions(EntryKind::Prompt, key, None, 1).await?;
    let Some(newest) = newest.first() else {
        return Ok(None);
    };
    let wanted = [(key.clone(), newest.number)];
    let kept = history.load_versions(EntryKind::Prompt, &wanted).await?;
    let content = kept
        .into_iter()
        .flatten()
        .next()
        .and_then(|kept| kept.content);
    // The history ignores changes of white space between object members, so texts may differ
    // slightly.
    let is_it = content.is_some_and(|content| {
        let mut now = content.clone();
        now.text = text.into();
        &*content.text == text || now.digest() == content.digest()
    });
    Ok(is_it.then_some(newest.number))
}
