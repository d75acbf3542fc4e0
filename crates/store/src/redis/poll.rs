//! Looking for changes where the server gives no notice of them: a server before
//! Redis 6, a proxy, or a user who may not track.
//!
//! Definitions are compared with their texts. Of shared variables only the set of keys is compared,
//! and less often: whoever serves their values reads them again every few seconds anyway, and there
//! may be very many.

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

/// How much longer the pause is than the look before it, so that looking takes a
/// tenth of the time at most.
const PAUSE_FACTOR: u32 = 9;
/// Time between two looks at the keys of shared variables.
const ENVIRONS_INTERVAL: Duration = Duration::from_secs(4);

/// Labels among them, which are as few and are wanted as soon.
const DEFINITIONS: [EntryKind; 6] = [
    EntryKind::Extension,
    EntryKind::Prompt,
    EntryKind::Tool,
    EntryKind::Agent,
    EntryKind::Database,
    EntryKind::Label,
];

/// A hash of every definition.
type DefinitionHashes = BTreeMap<(EntryKind, EntryKey), u64>;

/// Looks until a look fails; gives the reason.
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
            // What was written between a reader's first load and this look is in neither.
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
