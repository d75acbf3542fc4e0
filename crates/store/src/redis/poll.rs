//! Looking for changes where the server gives no notice of them: a server before
//! Redis 6, a proxy, or a user who may not track.
//!
//! Definitions are compared with their texts. Of shared variables only the set of
//! keys is compared: whoever serves their values reads them again every few seconds
//! anyway, and there may be very many.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use quillet_core::store::{Change, Key, Kind, StoreError};
use tokio::time::{Instant, sleep};

use super::read;
use super::ring::Ring;
use super::settings::Settings;
use crate::changes::Hub;

/// How much longer the pause is than the look before it, so that looking takes a
/// tenth of the time at most.
const PAUSE_FACTOR: u32 = 9;

const DEFINITIONS: [Kind; 3] = [Kind::Extension, Kind::Prompt, Kind::Tool];

#[derive(Debug, Default, PartialEq, Eq)]
struct Snapshot {
    definitions: BTreeMap<(Kind, Key), u64>,
    environs: u64,
}

/// Looks until a look fails; gives the reason.
pub(crate) async fn watch(settings: &Settings, ring: &Ring, hub: &Hub) -> StoreError {
    let mut before = None;
    loop {
        let start = Instant::now();
        let now = match snapshot(settings, ring).await {
            Ok(now) => now,
            Err(error) => return error,
        };
        if let Some(before) = &before {
            differences(before, &now)
                .into_iter()
                .for_each(|change| hub.send(change));
        }
        before = Some(now);
        sleep(settings.poll_interval.max(start.elapsed() * PAUSE_FACTOR)).await;
    }
}

async fn snapshot(settings: &Settings, ring: &Ring) -> Result<Snapshot, StoreError> {
    let mut snapshot = Snapshot::default();
    for kind in DEFINITIONS {
        for entry in read::entries(settings, ring, kind).await? {
            let hash = hash(&(&entry.text, entry.problem.is_some()));
            snapshot.definitions.insert((kind, entry.key), hash);
        }
    }
    let environs = read::keys(settings, ring, Kind::Environ).await?;
    snapshot.environs = hash(&environs);
    Ok(snapshot)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn differences(before: &Snapshot, now: &Snapshot) -> Vec<Change> {
    let differs = |at: &&(Kind, Key)| before.definitions.get(*at) != now.definitions.get(*at);
    let gone = before
        .definitions
        .keys()
        .filter(|at| !now.definitions.contains_key(*at));
    let changed = now.definitions.keys().filter(differs).chain(gone);
    let mut changes: Vec<Change> = changed
        .map(|(kind, key)| Change::Entry(*kind, key.clone()))
        .collect();
    if before.environs != now.environs {
        changes.push(Change::Kind(Kind::Environ));
    }
    changes
}
