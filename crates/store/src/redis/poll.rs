//! Polling for changes if the server sends no notifications: a server before Redis 6, a proxy, or a
//! user who may not use tracking.
//!
//! Definitions are compared by their texts. For shared variables only the set of keys is compared,
//! and less often: their values are read again every few seconds anyway, and there may be very
//! many.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use quillet_core::store::{EntryKey, EntryKind, StoreChange, StoreError};
use tokio::time::{Instant, sleep};

use super::connections::NodeConnections;
use super::read;
use super::settings::RedisSettings;
use crate::changes::ChangeBus;

/// Ratio of the pause to the duration of the poll before it, so polling takes at most a tenth of
/// the time.
const PAUSE_FACTOR: u32 = 9;
/// Interval of polling the keys of shared variables.
const ENVIRONS_INTERVAL: Duration = Duration::from_secs(4);

/// Kinds to compare. Labels are included, because they are equally few and equally urgent.
const DEFINITIONS: [EntryKind; 6] = [
    EntryKind::Extension,
    EntryKind::Prompt,
    EntryKind::Tool,
    EntryKind::Agent,
    EntryKind::Database,
    EntryKind::Label,
];

/// Hash of every definition.
type DefinitionHashes = BTreeMap<(EntryKind, EntryKey), u64>;

/// Polls until an error occurs, and returns it.
pub(crate) async fn watch(
    settings: &RedisSettings,
    ring: &NodeConnections,
    hub: &ChangeBus,
) -> StoreError {
    let looks = async {
        tokio::try_join!(
            watch_definitions(settings, ring, hub),
            watch_environs(settings, ring, hub)
        )
    };
    match looks.await {
        Ok((never, _)) => match never {},
        Err(error) => error,
    }
}

async fn watch_definitions(
    settings: &RedisSettings,
    ring: &NodeConnections,
    hub: &ChangeBus,
) -> Result<Infallible, StoreError> {
    let mut before = None;
    loop {
        let start = Instant::now();
        let now = definitions(settings, ring).await?;
        match &before {
            Some(before) => differences(before, &now).for_each(|change| hub.send(change)),
            // The first poll reports all kinds, because a write between a reader's first load and
            // this poll would otherwise be missed.
            None => DEFINITIONS
                .map(StoreChange::Kind)
                .into_iter()
                .for_each(|change| hub.send(change)),
        }
        before = Some(now);
        rest(start, settings.poll_interval).await;
    }
}

async fn watch_environs(
    settings: &RedisSettings,
    ring: &NodeConnections,
    hub: &ChangeBus,
) -> Result<Infallible, StoreError> {
    let mut before = None;
    loop {
        let start = Instant::now();
        let now = hash(&read::keys(settings, ring, EntryKind::Environ).await?);
        if before != Some(now) {
            hub.send(StoreChange::Kind(EntryKind::Environ));
        }
        before = Some(now);
        rest(start, settings.poll_interval.max(ENVIRONS_INTERVAL)).await;
    }
}

async fn rest(start: Instant, pause: Duration) {
    sleep(pause.max(start.elapsed() * PAUSE_FACTOR)).await;
}

async fn definitions(
    settings: &RedisSettings,
    ring: &NodeConnections,
) -> Result<DefinitionHashes, StoreError> {
    let all = read::definitions(settings, ring, &DEFINITIONS).await?;
    let mut definitions = DefinitionHashes::new();
    for (kind, entries) in DEFINITIONS.into_iter().zip(all) {
        for entry in entries {
            let hash = hash(&(&entry.text, entry.problem.is_some()));
            definitions.insert((kind, entry.key), hash);
        }
    }
    Ok(definitions)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn differences<'a>(
    before: &'a DefinitionHashes,
    now: &'a DefinitionHashes,
) -> impl Iterator<Item = StoreChange> + 'a {
    let written = now.iter().filter(|(at, hash)| before.get(at) != Some(hash));
    let gone = before.keys().filter(|at| !now.contains_key(at));
    let changed = written.map(|(at, _)| at).chain(gone);
    changed.map(|(kind, key)| StoreChange::Entry(*kind, key.clone()))
}
