//! Histories in Redis. Beside each definition lie its labels, a string, and its history, a hash, in
//! one slot; see [`exchange`] for what is in it. The log is a stream of its own.
//!
//! A change is one script, which does all of it or nothing. A connection that is lost while Redis
//! works leaves open which of the two, and the error says that the store is away. Whoever then
//! does the same again makes no second version: what is the same as the newest version is none.

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
    Commit, Committed, History, Import, Kept, LabelMove, Labels, LogEntry, LogFilter, STORE,
    Target, Version, label_key,
};
use quillet_core::store::{Change as Told, Key, Kind, StoreError, StoreErrorKind};

use super::client::Client;
use super::fault;
use super::layout::Names;
use super::ring::Request;
use super::script::number;
use crate::address::Deployment;
use crate::changes::Hub;
use crate::history::{Chain, imported, moved, stored};
use ask::ask;
use exchange::{Change, Now, Put, State};

/// How often a change is worked out again because others were faster. One of them was each time.
const ATTEMPTS: usize = 1000;
/// Definitions that one pipeline looks at.
const CHUNK: usize = 512;

/// The histories of a store.
pub(crate) struct RedisHistory {
    client: Arc<Client>,
    hub: Hub,
}

impl RedisHistory {
    pub(crate) fn new(client: Arc<Client>, hub: Hub) -> Self {
        RedisHistory { client, hub }
    }

    /// The names of a definition that is to be changed.
    fn names(&self, kind: Kind, key: &Key) -> Result<Names, StoreError> {
        let names = self.client.settings.layout.names(kind, key);
        let is_cluster = matches!(
            self.client.settings.address.deployment,
            Deployment::Cluster(_)
        );
        if is_cluster && !names.share_a_slot() {
            let message = format!(
                "{}: a cluster cannot keep the history of a key with such braces beside it; \
                 use a key without",
                names.definition
            );
            return Err(StoreError::new(StoreErrorKind::Refused, message));
        }
        Ok(names)
    }

    async fn look(&self, names: &Names) -> Result<State, StoreError> {
        let request = exchange::look(&self.client.settings, names);
        let state = State::of(names, ask(&self.client, &names.history, request).await?)?;
        state.ok_or_else(|| fault::corrupt(&names.history, "the script gave no state"))
    }

    /// Makes a change to what is still in this state; gives the state if it is another one.
    async fn write(
        &self,
        names: &Names,
        state: &State,
        change: &Change,
    ) -> Result<Option<State>, StoreError> {
        let request = exchange::write(&self.client.settings, names, state, change).await?;
        State::of(names, ask(&self.client, &names.history, request).await?)
    }

    /// Changes a definition. `plan` is asked again for as long as others are faster.
    async fn change<T>(
        &self,
        kind: Kind,
        key: &Key,
        plan: impl Fn(&State) -> Result<(Change, T), StoreError>,
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

    /// Reports a change if Redis will not.
    async fn tell(&self, kind: Kind, key: &Key, change: &Change) {
        if self.client.ring().await.is_ok_and(|ring| ring.tracked()) {
            return;
        }
        if change.definition != Put::Keep {
            self.hub.send(Told::Entry(kind, key.clone()));
        }
        if change.labels != Put::Keep {
            self.hub
                .send(Told::Entry(Kind::Label, label_key(kind, key)));
        }
    }

    async fn keep(&self, commit: &Commit) -> Result<Committed, StoreError> {
        let settings = &self.client.settings;
        let bytes = commit.content.as_ref().map_or(0, |content| content.bytes());
        settings.fits(&settings.layout.name(commit.kind, &commit.key), bytes)?;
        let plan = |state: &State| plan::commit(state, commit, settings.max_versions);
        self.change(commit.kind, &commit.key, plan).await
    }

    /// Looks at many definitions in one round trip. Only those that are new are read and written,
    /// in a second and a third.
    async fn observe_all(
        &self,
        kind: Kind,
        keys: &[Key],
        author: &str,
    ) -> Result<Vec<(Key, Version)>, StoreError> {
        let mut new = Vec::new();
        for chunk in keys.chunks(CHUNK) {
            new.extend(self.observe_some(kind, chunk, author).await?);
        }
        Ok(new)
    }

    async fn observe_some(
        &self,
        kind: Kind,
        keys: &[Key],
        author: &str,
    ) -> Result<Vec<(Key, Version)>, StoreError> {
        let settings = &self.client.settings;
        // One that can have no history keeps no other from having one.
        let named = keys.iter().filter_map(|key| match self.names(kind, key) {
            Ok(names) => Some((key, names)),
            Err(error) => {
                tracing::warn!(%error, "no version is kept");
                None
            }
        });
        let mut named: Vec<(&Key, Names)> = named.collect();
        let asked: Vec<Request> = named.iter().map(|(_, it)| exchange::is_known(it)).collect();
        let known = self.client.run(&asked).await?;
        let mut is_new = known.iter().map(|known| number(known) == 0);
        named.retain(|_| is_new.next().unwrap_or_default());
        let looks = named.iter().map(|(_, it)| exchange::look(settings, it));
        let looks: Vec<Request> = looks.collect();
        let replies = self.client.run(&looks).await?;

        let (mut planned, mut requests) = (Vec::new(), Vec::new());
        for ((key, names), reply) in named.iter().zip(replies) {
            let Some(state) = State::of(names, reply)? else {
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
            let observed = match State::of(names, reply)? {
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

    /// Observes a definition that somebody else was changing.
    async fn observe_one(
        &self,
        kind: Kind,
        key: &Key,
        author: &str,
    ) -> Result<Option<Version>, StoreError> {
        let most = self.client.settings.max_versions;
        let plan = |state: &State| {
            let change = plan::observe(state, key, author, most);
            let change = change.unwrap_or_else(|| plan::nothing_new(state));
            let version = change.added.last().map(|kept| kept.version.clone());
            Ok((change, version))
        };
        self.change(kind, key, plan).await
    }

    async fn relabel_one(
        &self,
        kind: Kind,
        key: &Key,
        moves: &[LabelMove],
    ) -> Result<Labels, StoreError> {
        let targets = moves.iter().filter_map(|one| one.to.as_ref());
        let targets: Vec<u64> = targets.flat_map(Target::numbers).collect();
        // Versions never change, so what they are may be read before; whether they are still there
        // is in the state.
        let history = self.client.settings.layout.history(kind, key);
        let known = versions::numbered(&self.client, &history, &targets).await?;
        let can_be_named =
            |number: u64| known.iter().any(|one| one.number == number && !one.removed);
        let plan = |state: &State| {
            let is_there = |number| state.numbers.contains(number) && can_be_named(number);
            let known = stored(key, state.labels.as_deref())?;
            let labels = moved(key, &known, moves, is_there)?;
            Ok((plan::relabel(state, &labels), labels))
        };
        self.change(kind, key, plan).await
    }

    async fn bring(&self, import: &Import) -> Result<usize, StoreError> {
        let Import { kind, key, .. } = import;
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
                // Somebody has just collected.
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

/// What an import changes, and how many of its versions are new.
fn joined(
    state: &State,
    known: Vec<Version>,
    import: &Import,
) -> Result<(Change, usize), StoreError> {
    let without_content = |version| Kept {
        version,
        content: None,
    };
    let mut chain = Chain::of(known.into_iter().map(without_content));
    match &state.now {
        Now::Nothing => drop(chain.observe(None, STORE)),
        Now::Other(content, _) => drop(chain.observe(Some(content), STORE)),
        Now::Head | Now::Broken => {}
    }
    let count = chain.extend(&import.key, &import.versions)?;
    let is_there = |number| chain.points_at(number);
    let labels = imported(import, state.labels.as_deref(), is_there)?;
    let added = chain.since(state.numbers.last().unwrap_or_default());
    Ok((plan::import(state, added, &labels), count))
}

fn busy(key: &Key) -> StoreError {
    fault::unavailable(format!(
        "{}: others write it all the time; try again",
        key.id()
    ))
}

impl History for RedisHistory {
    fn commit<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<Committed, StoreError>> {
        self.keep(commit).boxed()
    }

    fn observe<'a>(
        &'a self,
        kind: Kind,
        keys: &'a [Key],
        author: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(Key, Version)>, StoreError>> {
        self.observe_all(kind, keys, author).boxed()
    }

    fn versions<'a>(
        &'a self,
        kind: Kind,
        key: &'a Key,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Version>, StoreError>> {
        versions::below(&self.client, kind, key, before, limit).boxed()
    }

    fn kept<'a>(
        &'a self,
        kind: Kind,
        wanted: &'a [(Key, u64)],
    ) -> BoxFuture<'a, Result<Vec<Option<Kept>>, StoreError>> {
        versions::kept(&self.client, kind, wanted).boxed()
    }

    fn find<'a>(
        &'a self,
        kind: Kind,
        key: &'a Key,
        digits: &'a str,
    ) -> BoxFuture<'a, Result<Option<Version>, StoreError>> {
        versions::find(&self.client, kind, key, digits).boxed()
    }

    fn relabel<'a>(
        &'a self,
        kind: Kind,
        key: &'a Key,
        moves: &'a [LabelMove],
    ) -> BoxFuture<'a, Result<Labels, StoreError>> {
        self.relabel_one(kind, key, moves).boxed()
    }

    fn import<'a>(&'a self, import: &'a Import) -> BoxFuture<'a, Result<usize, StoreError>> {
        self.bring(import).boxed()
    }

    fn collect<'a>(
        &'a self,
        kind: Kind,
        key: &'a Key,
        keep: usize,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>> {
        let plan = move |state: &State| {
            let change = plan::collect(state, key, keep)?;
            let dropped = change.dropped.clone();
            Ok((change, dropped))
        };
        self.change(kind, key, plan).boxed()
    }

    fn keys(&self, kind: Kind) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
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
