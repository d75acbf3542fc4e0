//! Version number of the current definition, which only its history knows.

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

/// Definitions whose numbers are known.
const MOST: usize = 10_000;
/// How long an answer waits for its number.
const PATIENCE: Duration = Duration::from_millis(100);
/// For how long nobody asks again after a failure, so that a store that is away or refuses to keep
/// versions costs one wait.
const PAUSE_MS: u64 = 10_000;

/// Numbers of definitions, by id and revision.
#[derive(Debug)]
pub(crate) struct VersionNumbers {
    known: LruCache<(Arc<str>, Revision), u64>,
    /// Not before this time, in milliseconds since 1970.
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
    /// The number of a definition's version; what nobody has kept yet is kept now. `None` where
    /// there is no history, or it does not answer in time.
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

/// The number of the newest version, if it holds this text.
async fn ask(store: &dyn Store, key: &EntryKey, text: &str) -> Result<Option<u64>, StoreError> {
    let Some(history) = store.history() else {
        return Ok(None);
    };
    let keys = std::slice::from_ref(key);
    // The current text may not have a version yet.
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
    // White space between the members of an object makes no version, so texts may differ a little.
    let is_it = content.is_some_and(|content| {
        let mut now = content.clone();
        now.text = text.into();
        &*content.text == text || now.digest() == content.digest()
    });
    Ok(is_it.then_some(newest.number))
}
