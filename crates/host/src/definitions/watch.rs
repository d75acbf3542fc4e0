//! What others write into the store becomes versions, by `store`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use quillet_core::history::STORE;
use quillet_core::store::{Changes, EntryKey, EntryKind, StoreChange, StoreError, StoreErrorKind};
use tokio::time::{Instant, sleep, timeout_at};

use super::{DefinitionError, DefinitionService};

/// How long changes are gathered before they are looked at: who writes many, writes them at once.
const GATHER: Duration = Duration::from_millis(5);

/// Keys that are looked at together.
const TOGETHER: usize = 200;

/// Between two looks at many keys that nobody waits for, so that a store of 100,000 definitions
/// answers others meanwhile.
const PAUSE: Duration = Duration::from_millis(10);

/// After a failure it is tried again after this, and after twice as long each time.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// What has to be looked at.
#[derive(Debug, Default)]
struct Pending {
    kinds: BTreeSet<EntryKind>,
    keys: BTreeMap<EntryKind, BTreeSet<EntryKey>>,
}

impl Pending {
    fn everything() -> Self {
        let mut pending = Pending::default();
        pending.add(StoreChange::All);
        pending
    }

    fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.keys.is_empty()
    }

    fn add(&mut self, change: StoreChange) {
        match change {
            StoreChange::All => {
                let kinds = EntryKind::ALL.into_iter();
                self.kinds.extend(kinds.filter(|kind| kind.has_versions()));
            }
            StoreChange::Kind(kind) if kind.has_versions() => drop(self.kinds.insert(kind)),
            StoreChange::Entry(kind, key) if kind.has_versions() => {
                self.keys.entry(kind).or_default().insert(key);
            }
            StoreChange::Kind(_) | StoreChange::Entry(..) => {}
        }
    }
}

impl DefinitionService {
    /// Keeps what stands in the store as versions, now and after every change, for as long as the
    /// future is polled. Ends at once where the store keeps no history. What fails is tried again,
    /// and said once.
    pub async fn watch(&self) {
        if self.history().is_err() {
            return;
        }
        // From here on nothing is missed that the first look does not see.
        let mut changes = self.store().changes();
        let mut pending = Pending::everything();
        let mut failures = 0_u32;
        loop {
            while pending.is_empty() {
                match changes.next().await {
                    Some(change) => pending.add(change),
                    None => return,
                }
            }
            let until = Instant::now() + GATHER;
            while let Ok(next) = timeout_at(until, changes.next()).await {
                match next {
                    Some(change) => pending.add(change),
                    None => break,
                }
            }
            match self.look(&mut pending, &mut changes).await {
                Ok(()) => failures = 0,
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!(%error, "what was written is no version yet; trying again");
                    }
                    let (first, longest) = RETRY;
                    sleep((first * 2_u32.pow(failures.min(8))).min(longest)).await;
                    failures += 1;
                }
            }
        }
    }

    /// Looks at what is pending, the single keys first. What was not looked at stays pending.
    async fn look(
        &self,
        pending: &mut Pending,
        changes: &mut Changes,
    ) -> Result<(), DefinitionError> {
        self.look_at_keys(pending).await?;
        while let Some(kind) = pending.kinds.pop_first() {
            if let Err(error) = self.look_at_kind(kind, pending, changes).await {
                pending.kinds.insert(kind);
                return Err(error);
            }
        }
        Ok(())
    }

    async fn look_at_kind(
        &self,
        kind: EntryKind,
        pending: &mut Pending,
        changes: &mut Changes,
    ) -> Result<(), DefinitionError> {
        for keys in self.keys(kind).await?.chunks(TOGETHER) {
            self.observe_each(kind, keys).await?;
            sleep(PAUSE).await;
            // What somebody writes meanwhile need not wait for the rest.
            while let Some(Some(change)) = changes.next().now_or_never() {
                pending.add(change);
            }
            self.look_at_keys(pending).await?;
        }
        Ok(())
    }

    async fn look_at_keys(&self, pending: &mut Pending) -> Result<(), DefinitionError> {
        while let Some((kind, keys)) = pending.keys.first_key_value() {
            let kind = *kind;
            let some: Vec<EntryKey> = keys.iter().take(TOGETHER).cloned().collect();
            self.observe_each(kind, &some).await?;
            if let Some(keys) = pending.keys.get_mut(&kind) {
                keys.retain(|key| !some.contains(key));
                if keys.is_empty() {
                    pending.keys.remove(&kind);
                }
            }
        }
        Ok(())
    }

    /// One that can be no version, being too large, say, keeps no other from being one.
    async fn observe_each(
        &self,
        kind: EntryKind,
        keys: &[EntryKey],
    ) -> Result<(), DefinitionError> {
        let history = self.history()?;
        let is_away = |error: &StoreError| error.kind == StoreErrorKind::Unavailable;
        match history.observe(kind, keys, STORE).await {
            Err(error) if is_away(&error) => return Err(error.into()),
            Err(_) => {}
            Ok(_) => return Ok(()),
        }
        for key in keys {
            match history
                .observe(kind, std::slice::from_ref(key), STORE)
                .await
            {
                Err(error) if is_away(&error) => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(kind = kind.word(), %key, %error, "it becomes no version");
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }
}
