//! Histories in Redis. The labels of a definition (a string) and its history (a hash) are in the
//! same hash slot as the definition; [`exchange`] describes their format. The audit log is a
//! separate stream.
//!
//! A change is one script, which is atomic. If the connection is lost during the script, the
//! outcome is unknown, and the error reports that the store is unavailable. Repeating the change
//! does not create a second version, because content equal to the newest version creates none.

mod ask;
mod content;
mod exchange;
mod log;
mod numbers;
mod plan;
mod versions;

use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::history::{
    Commit, CommitResult, HistoryImport, HistoryStore, LabelMove, LabelTarget, Labels, LogEntry,
    LogFilter, STORE, Version, VersionRecord, label_key,
};
use quillet_core::store::{EntryKey, EntryKind, StoreChange as Told, StoreError, StoreErrorKind};

use super::client::RedisClient;
use super::connections::KeyedCommand;
use super::error;
use super::layout::DefinitionKeys;
use super::script::number;
use crate::address::Deployment;
use crate::changes::ChangeBus;
use crate::history::{VersionChain, apply_moves, imported, stored};
use ask::ask;
use exchange::{CurrentDefinition, DefinitionChange, DefinitionState, KeyWrite};

/// Maximum number of attempts of a change. Each failed attempt means that another client has
/// succeeded.
const ATTEMPTS: usize = 1000;
/// Number of definitions in one pipeline.
const CHUNK: usize = 512;

/// Histories of a store.
pub(crate) struct RedisHistory {
    client: Arc<RedisClient>,
    hub: ChangeBus,
}

impl RedisHistory {
    pub(crate) fn new(client: Arc<RedisClient>, hub: ChangeBus) -> Self {
        RedisHistory { client, hub }
    }

    /// Returns the key names of a definition that is to be changed.
    fn names(&self, kind: EntryKind, key: &EntryKey) -> Result<DefinitionKeys, StoreError> {
        let names = self.client.settings.layout.names(kind, key);
        let is_cluster = matches!(
            self.client.settings.address.deployment,
            Deployment::Cluster(_)
        );
        if is_cluster && !names.share_a_slot() {
            let message = format!(
                "{}: a Redis Cluster cannot store the history of a key with these braces; use a key without them",
                names.definition
            );
            return Err(StoreError::new(StoreErrorKind::Refused, message));
        }
        Ok(names)
    }

    async fn look(&self, names: &DefinitionKeys) -> Result<DefinitionState, StoreError> {
        let request = exchange::look(&self.client.settings, names);
        let state = DefinitionState::of(names, ask(&self.client, &names.history, request).await?)?;
        state.ok_or_else(|| error::corrupt(&names.history, "the script returned no state"))
    }

    /// Applies a change if the state is still the same; otherwise returns the new state.
    async fn write(
        &self,
        names: &DefinitionKeys,
        state: &DefinitionState,
        change: &DefinitionChange,
    ) -> Result<Option<DefinitionState>, StoreError> {
        let request = exchange::write(&self.client.settings, names, state, change).await?;
        DefinitionState::of(names, ask(&self.client, &names.history, request).await?)
    }

    /// Changes a definition. `plan` is called again after each concurrent change.
    async fn change<T>(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        plan: impl Fn(&DefinitionState) -> Result<(DefinitionChange, T), StoreError>,
    ) -> Result<T, StoreError> {
        let names = self.names(kind, key)?;
        let mut state = self.look(&names).await?;
        for _ in 0..ATTEMPTS {
            let (change, done) = plan(&state)?;
            match self.write(&names, &state, &change).await? {
                Some(newer) => state = newer,
                None => {
                    self.tell(kind, key, &change).await;
                    return Ok(done);
                }
            }
        }
        Err(busy(key))
    }

    /// Reports a change if Redis sends no notification of it.
    async fn tell(&self, kind: EntryKind, key: &EntryKey, change: &DefinitionChange) {
        if self
            .client
            .connections()
            .await
            .is_ok_and(|ring| ring.tracked())
        {
            return;
        }
        if change.definition != KeyWrite::Keep {
            self.hub.send(Told::Entry(kind, key.clone()));
        }
        if change.labels != KeyWrite::Keep {
            self.hub
                .send(Told::Entry(EntryKind::Label, label_key(kind, key)));
        }
    }

    async fn keep(&self, commit: &Commit) -> Result<CommitResult, StoreError> {
        let settings = &self.client.settings;
        let bytes = commit.content.as_ref().map_or(0, |content| content.bytes());
        settings.fits(&settings.layout.name(commit.kind, &commit.key), bytes)?;
        let plan = |state: &DefinitionState| plan::commit(state, commit, settings.max_versions);
        self.change(commit.kind, &commit.key, plan).await
    }

    /// Checks many definitions in one round trip. Only changed ones are read and written, in a
    /// second and a third round trip.
    async fn observe_all(
        &self,
        kind: EntryKind,
        keys: &[EntryKey],
        author: &str,
    ) -> Result<Vec<(EntryKey, Version)>, StoreError> {
        let mut new = Vec::new();
        for chunk in keys.chunks(CHUNK) {
            new.extend(self.observe_some(kind, chunk, author).await?);
        }
        Ok(new)
    }

    async fn observe_some(
        &self,
        kind: EntryKind,
        keys: &[EntryKey],
        author: &str,
    ) -> Result<Vec<(EntryKey, Version)>, StoreError> {
        let settings = &self.client.settings;
        // A key without a valid history must not prevent the other keys from being recorded.
        let named = keys.iter().filter_map(|key| match self.names(kind, key) {
            Ok(names) => Some((key, names)),
            Err(error) => {
                tracing::warn!(%error, "cannot record a version");
                None
            }
        });
        let mut named: Vec<(&EntryKey, DefinitionKeys)> = named.collect();
        let asked: Vec<KeyedCommand> = named.iter().map(|(_, it)| exchange::is_known(it)).collect();
        let known = self.client.run(&asked).await?;
        let mut is_new = known.iter().map(|known| number(known) == 0);
        named.retain(|_| is_new.next().unwrap_or_default());
        let looks = named.iter().map(|(_, it)| exchange::look(settings, it));
        let looks: Vec<KeyedCommand> = looks.collect();
        let replies = self.client.run(&looks).await?;

        let (mut planned, mut requests) = (Vec::new(), Vec::new());
        for ((key, names), reply) in named.iter().zip(replies) {
            let Some(state) = DefinitionState::of(names, reply)? else {
                continue;
            };
            if let Some(change) = plan::observe(&state, key, author, settings.max_versions) {
                requests.push(exchange::write(settings, names, &state, &change).await?);
                planned.push((*key, names, change));
            }
        }
        let replies = self.client.run(&requests).await?;

        let mut new = Vec::new();
        for ((key, names, change), reply) in planned.into_iter().zip(replies) {
            let observed = match DefinitionState::of(names, reply)? {
                None => change
                    .added
                    .into_iter()
                    .next_back()
                    .map(|kept| kept.version),
                Some(_) => self.observe_one(kind, key, author).await?,
            };
            new.extend(observed.map(|version| (key.clone(), version)));
        }
        Ok(new)
    }

    /// Records a definition that another client was changing.
    async fn observe_one(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        author: &str,
    ) -> Result<Option<Version>, StoreError> {
        let most = self.client.settings.max_versions;
        let plan = |state: &DefinitionState| {
            let change = plan::observe(state, key, author, most);
            let change = change.unwrap_or_else(|| plan::nothing_new(state));
            let version = change.added.last().map(|kept| kept.version.clone());
            Ok((change, version))
        };
        self.change(kind, key, plan).await
    }

    async fn relabel_one(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        moves: &[LabelMove],
    ) -> Result<Labels, StoreError> {
        let targets = moves.iter().filter_map(|one| one.to.as_ref());
        let targets: Vec<u64> = targets.flat_map(LabelTarget::numbers).collect();
        // Versions are immutable, so they can be read in advance; the state shows whether the
        // versions still exist.
        let history = self.client.settings.layout.history(kind, key);
        let known = versions::numbered(&self.client, &history, &targets).await?;
        let can_be_named =
            |number: u64| known.iter().any(|one| one.number == number && !one.removed);
        let plan = |state: &DefinitionState| {
            let is_there = |number| state.numbers.contains(number) && can_be_named(number);
            let known = stored(key, state.labels.as_deref())?;
            let labels = apply_moves(key, &known, moves, is_there)?;
            Ok((plan::relabel(state, &labels), labels))
        };
        self.change(kind, key, plan).await
    }

    async fn bring(&self, import: &HistoryImport) -> Result<usize, StoreError> {
        let HistoryImport { kind, key, .. } = import;
        let names = self.names(*kind, key)?;
        for kept in &import.versions {
            let bytes = kept.content.as_ref().map_or(0, |content| content.bytes());
            self.client.settings.fits(&names.definition, bytes)?;
        }
        for _ in 0..ATTEMPTS {
            let state = self.look(&names).await?;
            let numbers: Vec<u64> = state.numbers.below(None).collect();
            let known = versions::numbered(&self.client, &names.history, &numbers).await?;
            if known.len() < numbers.len() {
                // Another client has just deleted old versions.
                continue;
            }
            let (change, added) = joined(&state, known, import)?;
            if self.write(&names, &state, &change).await?.is_none() {
                self.tell(*kind, key, &change).await;
                return Ok(added);
            }
        }
        Err(busy(key))
    }
}

/// Returns the change of an import, and the number of new versions.
fn joined(
    state: &DefinitionState,
    known: Vec<Version>,
    import: &HistoryImport,
) -> Result<(DefinitionChange, usize), StoreError> {
    let without_content = |version| VersionRecord {
        version,
        content: None,
    };
    let mut chain = VersionChain::of(known.into_iter().map(without_content));
    match &state.now {
        CurrentDefinition::Nothing => drop(chain.observe(None, STORE)),
        CurrentDefinition::Other(content, _) => drop(chain.observe(Some(content), STORE)),
        CurrentDefinition::Head | CurrentDefinition::Broken => {}
    }
    let count = chain.extend(&import.key, &import.versions)?;
    let is_there = |number| chain.points_at(number);
    let labels = imported(import, state.labels.as_deref(), is_there)?;
    let added = chain.since(state.numbers.last().unwrap_or_default());
    Ok((plan::import(state, added, &labels), count))
}

fn busy(key: &EntryKey) -> StoreError {
    error::unavailable(format!(
        "{}: other writers keep changing it; try again",
        key.id()
    ))
}

impl HistoryStore for RedisHistory {
    fn commit<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<CommitResult, StoreError>> {
        self.keep(commit).boxed()
    }

    fn observe<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
        author: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(EntryKey, Version)>, StoreError>> {
        self.observe_all(kind, keys, author).boxed()
    }

    fn versions<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Version>, StoreError>> {
        versions::below(&self.client, kind, key, before, limit).boxed()
    }

    fn load_versions<'a>(
        &'a self,
        kind: EntryKind,
        wanted: &'a [(EntryKey, u64)],
    ) -> BoxFuture<'a, Result<Vec<Option<VersionRecord>>, StoreError>> {
        versions::load_records(&self.client, kind, wanted).boxed()
    }

    fn find<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        digits: &'a str,
    ) -> BoxFuture<'a, Result<Option<Version>, StoreError>> {
        versions::find(&self.client, kind, key, digits).boxed()
    }

    fn relabel<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        moves: &'a [LabelMove],
    ) -> BoxFuture<'a, Result<Labels, StoreError>> {
        self.relabel_one(kind, key, moves).boxed()
    }

    fn import<'a>(&'a self, import: &'a HistoryImport) -> BoxFuture<'a, Result<usize, StoreError>> {
        self.bring(import).boxed()
    }

    fn collect<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        keep: usize,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>> {
        let plan = move |state: &DefinitionState| {
            let change = plan::collect(state, key, keep)?;
            let dropped = change.dropped.clone();
            Ok((change, dropped))
        };
        self.change(kind, key, plan).boxed()
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
        versions::keys(&self.client, kind).boxed()
    }

    fn note<'a>(&'a self, entry: &'a LogEntry) -> BoxFuture<'a, Result<(), StoreError>> {
        log::append(&self.client, entry).boxed()
    }

    fn log<'a>(
        &'a self,
        filter: &'a LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<LogEntry>, StoreError>> {
        log::below(&self.client, filter, before, limit).boxed()
    }
}
