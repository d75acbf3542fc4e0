//! Journal in Redis.
//!
//! `<prefix>journal:{<id>}` is the hash of a run: `head`, `scope` and `created` are constant;
//! `last`, `updated`, `epoch`, `state` and `waiting` are its current state; `free` is the time from
//! which it can be claimed, which waiting and ended runs do not have. `…:steps` is a stream of its
//! events whose ids are their numbers. Both change in one script, and expire some time after the
//! end. All times are from the clock of Redis. [`index`] describes how runs are found.

mod index;
mod script;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::journal::{
    Claim, Journal, JournalEntry, JournalEvent, RunFilter, RunHead, RunSnapshot, RunState,
};
use quillet_core::store::{Health, StoreError};
use redis::Value;

use super::client::RedisClient;
use super::connection_manager;
use super::connections::KeyedCommand;
use super::error::{self, corrupt};
use super::read::with_name;
use super::script::{count, list, number, text};
use super::settings::RedisSettings;
use crate::address::RedisAddress;
use crate::changes::ChangeBus;
use crate::journal::{
    JournalOptions, LONGEST_MS, exists, head_text, lost, may_interject, millis, not_ended,
    unreadable,
};
use crate::{StoreOptions, ids};
use index::{Cursor, JournalIndex, taken_out};
use script::{BEGIN, CLAIM, READ, REMOVE, RENEW, RunKeys, RunStatus, WRITE};

/// Maximum number of events per reply, and the size after which a reply ends, which limit how long
/// other clients wait.
const PAGE: usize = 512;
const PAGE_BYTES: usize = 4 << 20;

/// Journal in Redis.
#[derive(Debug)]
pub struct RedisJournal {
    client: RedisClient,
    options: JournalOptions,
}

/// Author of new events.
#[derive(Clone, Copy)]
enum StepAuthor {
    /// The owner with this epoch.
    Owner(u64),
    /// Another client that knows the events up to this number.
    Other(u64),
}

impl RedisJournal {
    /// Starts connecting without waiting for Redis. Call this inside a Tokio runtime.
    ///
    /// # Errors
    /// `Configuration` for a missing or invalid certificate file.
    pub fn open(
        address: &RedisAddress,
        store: &StoreOptions,
        options: JournalOptions,
    ) -> Result<Self, StoreError> {
        let settings = RedisSettings::quiet(address, store)?;
        let client = RedisClient::open(settings, ChangeBus::new());
        Ok(RedisJournal { client, options })
    }

    fn index(&self) -> JournalIndex<'_> {
        JournalIndex {
            client: &self.client,
            keep_ms: self.options.keep_ms(),
        }
    }

    fn names(&self, run: &str) -> Result<RunKeys, StoreError> {
        Ok(self.index().names(ids::checked("run", run)?))
    }

    /// Runs a script on a run; `None` if it returns 0.
    async fn on_run(
        &self,
        script: &str,
        run: &str,
        arguments: &[String],
    ) -> Result<Option<RunStatus>, StoreError> {
        let names = self.names(run)?;
        let reply = self.client.ask(names.script(script, arguments)).await?;
        RunStatus::of(&names.run, reply)
    }

    async fn first(
        &self,
        head: &RunHead,
        steps: &[JournalEvent],
        lease: Duration,
    ) -> Result<Claim, StoreError> {
        let (run, lease) = (ids::checked("run", &head.id)?, millis(lease));
        let texts = self.options.texts(run, steps)?;
        self.options
            .has_room(run, 0, texts.len(), RunState::Running)?;
        let mut arguments = vec![
            head_text(head)?,
            head.scope.to_string(),
            head.created_ms.min(LONGEST_MS).to_string(),
            lease.to_string(),
        ];
        arguments.extend(texts);
        let mut noted = self.index().reserve(run, lease).await?;
        let begun = self.on_run(BEGIN, run, &arguments).await;
        if let Ok(Some(facts)) = &begun {
            noted.extend(self.index().note(run, facts));
        }
        self.index().repair(&noted).await;
        let facts = begun?.ok_or_else(|| exists(run))?;
        Ok(facts.claim())
    }

    async fn take(&self, run: &str, lease: Duration) -> Result<Option<Claim>, StoreError> {
        let lease = millis(lease).to_string();
        let Some(facts) = self.on_run(CLAIM, run, &[lease]).await? else {
            return Ok(None);
        };
        self.index().repair(&self.index().note(run, &facts)).await;
        Ok(Some(facts.claim()))
    }

    async fn hold(&self, run: &str, epoch: u64, lease: Duration) -> Result<bool, StoreError> {
        let arguments = [epoch.to_string(), millis(lease).to_string()];
        let Some(facts) = self.on_run(RENEW, run, &arguments).await? else {
            return Ok(false);
        };
        let noted = self.index().note_renewal(run, &facts);
        self.index().repair(&[noted]).await;
        Ok(true)
    }

    /// Appends events and returns the number of the last; `None` if the writer is not allowed to.
    async fn write(
        &self,
        run: &str,
        by: StepAuthor,
        steps: &[JournalEvent],
        standing: &RunSnapshot,
    ) -> Result<Option<u64>, StoreError> {
        let run = ids::checked("run", run)?;
        let texts = self.options.texts(run, steps)?;
        let (who, number) = match by {
            StepAuthor::Owner(epoch) => ("owner", epoch),
            StepAuthor::Other(last) => ("other", last),
        };
        let mut arguments = vec![
            who.to_owned(),
            number.to_string(),
            standing.state.as_str().to_owned(),
            self.options.waiting(run, standing)?,
            self.options.max_steps.to_string(),
            self.options.keep_ms().to_string(),
        ];
        arguments.extend(texts);
        let Some(facts) = self.on_run(WRITE, run, &arguments).await? else {
            return Ok(None);
        };
        match facts.code {
            1 => {}
            2 => self.index().repair(&self.index().note(run, &facts)).await,
            _ => return Err(self.options.too_many(run, facts.last, steps.len())),
        }
        Ok(Some(facts.last))
    }

    async fn steps(
        &self,
        run: &str,
        after: u64,
        most: usize,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        let names = self.names(run)?;
        let mut entries: Vec<JournalEntry> = Vec::new();
        while entries.len() < most {
            let after = entries.last().map_or(after, |entry| entry.number);
            let wanted = (most - entries.len()).min(PAGE);
            let arguments = [after, wanted as u64, PAGE_BYTES as u64].map(|it| it.to_string());
            let reply = list(self.client.ask(names.script(READ, &arguments)).await?);
            let Some((complete, steps)) = reply.split_first() else {
                return Err(corrupt(&names.steps, "the script returned no steps"));
            };
            for step in steps.chunks(3) {
                entries.push(entry(run, &names.steps, step)?);
            }
            if number(complete) == 1 && steps.len() < 3 * wanted {
                break;
            }
        }
        Ok(entries)
    }

    async fn one(&self, run: &str) -> Result<Option<RunHead>, StoreError> {
        let names = self.names(run)?;
        let reply = self.client.ask(head_of(&names)).await?;
        head(&names.run, reply)
    }

    async fn heads(&self, filter: &RunFilter) -> Result<Vec<RunHead>, StoreError> {
        let index = self.index();
        let set = index.set(filter.scope.as_deref(), filter.state);
        let mut cursor = Cursor::new(set, filter.before_ms);
        let mut found = Vec::new();
        while found.len() < filter.most {
            let wanted = match filter.state {
                Some(RunState::Ended) => usize::MAX,
                _ => filter.most - found.len(),
            };
            let page = index.page(&mut cursor, wanted).await?;
            if page.is_empty() {
                break;
            }
            let names: Vec<RunKeys> = page.iter().map(|(id, _)| index.names(id)).collect();
            let asked: Vec<KeyedCommand> = names.iter().map(head_of).collect();
            let replies = self.client.run(&asked).await?;
            let mut gone = Vec::new();
            for (((id, score), names), reply) in page.iter().zip(&names).zip(replies) {
                let read = match reply {
                    Value::ServerError(error) => Err(error::of_reply(&names.run, &error)),
                    reply => head(&names.run, reply),
                };
                match read {
                    Ok(Some(head)) if takes(filter, &head) => found.push(head),
                    // There is no separate set of ended runs, so other entries remain in the list.
                    Ok(Some(_)) if filter.state == Some(RunState::Ended) => {}
                    Ok(_) => gone.push(taken_out(cursor.set(), id, *score)),
                    // A corrupt run must not hide the others.
                    Err(error) => tracing::warn!(run = %id, %error, "run ignored in a list"),
                }
            }
            index.repair(&gone).await;
        }
        found.truncate(filter.most);
        Ok(found)
    }

    async fn forget(&self, run: &str) -> Result<bool, StoreError> {
        let Some(facts) = self.on_run(REMOVE, run, &[]).await? else {
            return Ok(false);
        };
        if facts.code != 1 {
            return Err(not_ended(run));
        }
        self.index().repair(&self.index().forget(run, &facts)).await;
        Ok(true)
    }
}

impl RunStatus {
    fn claim(&self) -> Claim {
        Claim {
            epoch: self.epoch,
            last: self.last,
        }
    }
}

/// Whether a run passes the filter.
fn takes(filter: &RunFilter, head: &RunHead) -> bool {
    filter
        .scope
        .as_ref()
        .is_none_or(|scope| *scope == head.scope)
        && filter
            .state
            .is_none_or(|state| state == head.standing.state)
        && filter
            .before_ms
            .is_none_or(|before| head.created_ms < before)
}

/// Returns the command that reads the fields for a list.
fn head_of(names: &RunKeys) -> KeyedCommand {
    let mut command = with_name("HMGET", &names.run);
    command.arg(&["head", "updated", "last", "state", "waiting"]);
    KeyedCommand {
        name: names.run.clone(),
        command,
    }
}

fn head(name: &str, reply: Value) -> Result<Option<RunHead>, StoreError> {
    let wrong = |what: &str| corrupt(name, what);
    let Ok([head, updated, last, state, waiting]) = <[Value; 5]>::try_from(list(reply)) else {
        return Err(wrong("its value is not a run"));
    };
    if head == Value::Nil {
        return Ok(None);
    }
    let state = text(state).and_then(|state| RunState::from_name(&state));
    Ok(Some(RunHead {
        updated_ms: count(&updated),
        last: count(&last),
        standing: RunSnapshot {
            state: state.ok_or_else(|| wrong("it has no run state"))?,
            waiting: read(name, &waiting)?,
        },
        ..read(name, &head)?
    }))
}

/// Parses an event from a script: the id of its entry, its time and its text.
fn entry(run: &str, name: &str, step: &[Value]) -> Result<JournalEntry, StoreError> {
    let [id, at, step] = step else {
        return Err(corrupt(name, "the script returned no step"));
    };
    let number = text(id.clone()).and_then(|id| id.split('-').next()?.parse().ok());
    let number = number.ok_or_else(|| corrupt(name, "its value is not a step"))?;
    let Value::BulkString(text) = step else {
        return Err(corrupt(name, "its value is not a step"));
    };
    Ok(JournalEntry {
        number,
        at_ms: count(at),
        step: serde_json::from_slice(text).map_err(|error| unreadable(run, number, &error))?,
    })
}

fn read<T: serde::de::DeserializeOwned>(name: &str, json: &Value) -> Result<T, StoreError> {
    let bytes: &[u8] = match json {
        Value::BulkString(bytes) => bytes,
        _ => b"",
    };
    let wrong = |error| corrupt(name, &format!("its value is not a run: {error}"));
    serde_json::from_slice(bytes).map_err(wrong)
}

impl Journal for RedisJournal {
    fn describe(&self) -> String {
        self.client.settings.address.to_string()
    }

    fn health(&self) -> Health {
        match &*self.client.state.borrow() {
            connection_manager::ConnectionState::Up(_)
            | connection_manager::ConnectionState::Connecting => Health::Ready,
            connection_manager::ConnectionState::Away(error) => Health::Away {
                reason: error.message.clone(),
            },
        }
    }

    fn begin<'a>(
        &'a self,
        head: &'a RunHead,
        steps: &'a [JournalEvent],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Claim, StoreError>> {
        self.first(head, steps, lease).boxed()
    }

    fn claim<'a>(
        &'a self,
        run: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
        self.take(run, lease).boxed()
    }

    fn renew<'a>(
        &'a self,
        run: &'a str,
        epoch: u64,
        lease: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.hold(run, epoch, lease).boxed()
    }

    fn append<'a>(
        &'a self,
        run: &'a str,
        epoch: u64,
        steps: &'a [JournalEvent],
        standing: &'a RunSnapshot,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        async move {
            let written = self
                .write(run, StepAuthor::Owner(epoch), steps, standing)
                .await?;
            written.ok_or_else(|| lost(run))
        }
        .boxed()
    }

    fn interject<'a>(
        &'a self,
        run: &'a str,
        last: u64,
        step: &'a JournalEvent,
        standing: &'a RunSnapshot,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            may_interject(run, standing)?;
            let steps = std::slice::from_ref(step);
            let written = self
                .write(run, StepAuthor::Other(last), steps, standing)
                .await?;
            Ok(written.is_some())
        }
        .boxed()
    }

    fn head<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<RunHead>, StoreError>> {
        self.one(run).boxed()
    }

    fn read<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<JournalEntry>, StoreError>> {
        self.steps(run, after, most).boxed()
    }

    fn list<'a>(
        &'a self,
        filter: &'a RunFilter,
    ) -> BoxFuture<'a, Result<Vec<RunHead>, StoreError>> {
        self.heads(filter).boxed()
    }

    fn abandoned(&self, most: usize) -> BoxFuture<'_, Result<Vec<Arc<str>>, StoreError>> {
        async move { self.index().claimable(most).await }.boxed()
    }

    fn remove<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.forget(run).boxed()
    }
}
