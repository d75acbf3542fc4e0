//! Records versions of definitions that other programs write into the store, with the author
//! `store`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use quillet_core::history::STORE;
use quillet_core::store::{Changes, EntryKey, EntryKind, StoreChange, StoreError, StoreErrorKind};
use tokio::time::{Instant, sleep, timeout_at};

use super::{DefinitionError, DefinitionService};

/// Delay before changes are read, because a program usually writes many definitions at the same
/// time.
const GATHER: Duration = Duration::from_millis(5);

/// Number of keys to read at a time.
const TOGETHER: usize = 200;

/// Pause between batches during a full scan, so that a store of 100,000 definitions can serve other
/// requests.
const PAUSE: Duration = Duration::from_millis(10);

/// First delay after a failure; doubled after each further one.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Pending work.
#[derive(Debug, Default)]
struct PendingDefinitions {
    kinds: BTreeSet<EntryKind>,
    keys: BTreeMap<EntryKind, BTreeSet<EntryKey>>,
}

impl PendingDefinitions {
    fn everything() -> Self {
        let mut pending = PendingDefinitions::default();
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
    /// Records stored content as versions, now and after every change, while the future is polled.
    /// Ends immediately if the store does not keep a history. Failures are retried and logged once.
    pub async fn watch(&self) {
        if self.history().is_err() {
            return;
        }
        // Subscribed before the first scan, so that no change falls between the two.
        let mut changes = self.store().changes();
        let mut pending = PendingDefinitions::everything();
        let mut failures = 0_u32;
        loop {
            while pending.is_empty() {
                match changes.next().await {
                    Some(change) => pending.add(change),
                    None => return,
                }
            }
            // The end is fixed, so that a steady flow of changes cannot delay the read.
            let until = Instant::now() + GATHER;
            while let Ok(next) = timeout_at(until, changes.next()).await {
                match next {
                    Some(change) => pending.add(change),
                    // The pending changes are still recorded, and the next iteration ends the
                    // watch.
                    None => break,
                }
            }
            match self.look(&mut pending, &mut changes).await {
                Ok(()) => failures = 0,
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!(
                            %error,
                            "cannot record changed definitions as versions; retrying"
                        );
                    }
                    let (first, longest) = RETRY;
                    // The exponent is limited, because the power would overflow before `longest`
                    // applies.
                    sleep((first * 2_u32.pow(failures.min(8))).min(longest)).await;
                    failures += 1;
                }
            }
        }
    }

    /// Processes pending keys, single keys first. Keys that were not processed stay pending.
    async fn look(
        &self,
        pending: &mut PendingDefinitions,
        changes: &mut Changes,
    ) -> Result<(), DefinitionError> {
        self.look_at_keys(pending).await?;
        while let Some(kind) = pending.kinds.pop_first() {
            if let Err(error) = self.look_at_kind(kind, pending, changes).await {
                // The kind is put back, so that the retry scans it again.
                pending.kinds.insert(kind);
                return Err(error);
            }
        }
        Ok(())
    }

    async fn look_at_kind(
        &self,
        kind: EntryKind,
        pending: &mut PendingDefinitions,
        changes: &mut Changes,
    ) -> Result<(), DefinitionError> {
        for keys in self.keys(kind).await?.chunks(TOGETHER) {
            self.observe_each(kind, keys).await?;
            sleep(PAUSE).await;
            // A change that arrives during the scan is handled before the scan ends.
            while let Some(Some(change)) = changes.next().now_or_never() {
                pending.add(change);
            }
            self.look_at_keys(pending).await?;
        }
        Ok(())
    }

    async fn look_at_keys(&self, pending: &mut PendingDefinitions) -> Result<(), DefinitionError> {
        while let Some((kind, keys)) = pending.keys.first_key_value() {
            let kind = *kind;
            let some: Vec<EntryKey> = keys.iter().take(TOGETHER).cloned().collect();
            self.observe_each(kind, &some).await?;
            // The keys are removed only after success, so that they are still pending after a
            // failure.
            if let Some(keys) = pending.keys.get_mut(&kind) {
                keys.retain(|key| !some.contains(key));
                if keys.is_empty() {
                    pending.keys.remove(&kind);
                }
            }
        }
        Ok(())
    }

    /// A definition that cannot become a version, for example because it is too large, must not
    /// block the others.
    async fn observe_each(
        &self,
        kind: EntryKind,
        keys: &[EntryKey],
    ) -> Result<(), DefinitionError> {
        let history = self.history()?;
        let is_away = |error: &StoreError| error.kind == StoreErrorKind::Unavailable;
        match history.observe(kind, keys, STORE).await {
            Err(error) if is_away(&error) => return Err(error.into()),
            // One invalid definition fails the whole batch, so each is tried alone below.
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
                    tracing::warn!(
                        kind = kind.word(), %key, %error,
                        "cannot record this definition as a version"
                    );
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }
}
