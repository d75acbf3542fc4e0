//! Sorted sets for finding runs.
//!
//! A list is `<prefix>journal:scopes:{<scope>}` or `<prefix>journal:lists:{all}` and contains runs
//! by creation time. Next to it, in the same hash slot, `…:running`, `…:waiting` and `…:ready`
//! contain the runs in these states. `<prefix>journal:lists:{all}:free` contains all runs that have
//! not ended, by the time of their next check: the end of the owner's lease, immediately for ready
//! runs, and later for waiting runs. `…:ended` contains the other runs by expiration time.
//!
//! In a cluster the sets are not in the hash slot of the run, so a process that dies in between
//! leaves them inconsistent. The run itself is always authoritative: every reader of a set checks
//! the run and repairs the set if necessary. A run is in `free` before it is anywhere else, and
//! each change of its state updates all sets. An entry is removed only if it still has the score
//! that was read, because a new run may have the same id.

use std::collections::HashSet;
use std::sync::Arc;

use quillet_core::journal::RunState;
use quillet_core::store::StoreError;
use redis::Value;

use super::super::client::RedisClient;
use super::super::connections::KeyedCommand;
use super::super::error;
use super::super::read::with_name;
use super::super::script::{count, list, pairs, script};
use super::script::{LOOK, RunKeys, RunStatus};

/// Time until a waiting run is checked again, in case the update of its set was lost.
const LOOK_AGAIN_MS: u64 = 30_000;
/// Maximum number of entries in one read; [`LEAST`] is the minimum, because some entries may be out
/// of date.
const PAGE: usize = 128;
const LEAST: usize = 16;
/// Maximum number of expired runs that starting a run removes from the sets.
const SWEPT: usize = 32;

const NOW: &str = "
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
";

/// KEYS: free. ARGV: id, lease. An existing entry belongs to another run and is not changed.
const RESERVE: &str = "return redis.call('ZADD', KEYS[1], 'NX', now + ARGV[2], ARGV[1])";

/// KEYS: a set by time. ARGV: number of entries to skip, number of entries to return. Returns the
/// current time and the due entries.
const DUE: &str = "
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', ARGV[1], ARGV[2])
return {now, due}";

/// KEYS: a list, and its running, waiting and ready runs. ARGV: id, creation time, state.
const SORT: &str = "
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
for place, state in ipairs({'running', 'waiting', 'ready'}) do
  if state == ARGV[3] then
    redis.call('ZADD', KEYS[place + 1], ARGV[2], ARGV[1])
  else
    redis.call('ZREM', KEYS[place + 1], ARGV[1])
  end
end
return 0";

/// KEYS: sets. ARGV: member, expected score. An entry with a different score is not removed.
const TAKE: &str = "
for _, set in ipairs(KEYS) do
  local score = redis.call('ZSCORE', set, ARGV[1])
  if score and tonumber(score) == tonumber(ARGV[2]) then redis.call('ZREM', set, ARGV[1]) end
end
return 0";

/// KEYS: a set. ARGV: member, expected score, new score. An entry with a different score is not
/// changed.
const MOVE: &str = "
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or tonumber(score) ~= tonumber(ARGV[2]) then return 0 end
return redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])";

/// KEYS: free. ARGV: id, previous end of the lease, new end. An existing entry may be newer,
/// because the owner renews its lease while it writes.
const RENEWED: &str = "
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if score and tonumber(score) ~= tonumber(ARGV[2]) then return 0 end
return redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])";

/// Sorted sets of a journal.
#[derive(Debug)]
pub(super) struct JournalIndex<'a> {
    pub(super) client: &'a RedisClient,
    pub(super) keep_ms: u64,
}

/// Position in a set that is read from the latest entry on.
#[derive(Debug)]
pub(super) struct Cursor {
    set: String,
    highest: String,
    /// Entries with the last score, which the next page contains again.
    seen: Vec<(String, u64)>,
}

impl Cursor {
    /// Creates a cursor for runs created before a time.
    pub(super) fn new(set: String, before: Option<u64>) -> Self {
        Cursor {
            set,
            highest: before.map_or("+inf".to_owned(), |before| format!("({before}")),
            seen: Vec::new(),
        }
    }

    pub(super) fn set(&self) -> &str {
        &self.set
    }
}

impl JournalIndex<'_> {
    /// Returns the list of a scope, or of all runs.
    fn list(&self, scope: Option<&str>) -> String {
        let layout = &self.client.settings.layout;
        match scope {
            Some(scope) => layout.tagged("journal:scopes", scope),
            None => layout.tagged("journal:lists", "all"),
        }
    }

    /// Returns the smallest set that contains all runs of a scope and a state. Most runs have
    /// ended, so there is no separate set for them.
    pub(super) fn set(&self, scope: Option<&str>, state: Option<RunState>) -> String {
        let list = self.list(scope);
        match state.filter(|state| *state != RunState::Ended) {
            Some(state) => format!("{list}:{}", state.as_str()),
            None => list,
        }
    }

    /// Returns a list and its sets of runs that have not ended, in the order of [`SORT`].
    fn sets(&self, scope: Option<&str>) -> [String; 4] {
        let open = [RunState::Running, RunState::Waiting, RunState::Ready];
        let [running, waiting, ready] = open.map(|state| self.set(scope, Some(state)));
        [self.list(scope), running, waiting, ready]
    }

    fn free(&self) -> String {
        self.list(None) + ":free"
    }

    fn ended(&self) -> String {
        self.list(None) + ":ended"
    }

    pub(super) fn names(&self, id: &str) -> RunKeys {
        RunKeys::new(self.client.settings.layout.tagged("journal", id))
    }

    /// Adds a new run to `free`, so it is found even if the process dies. Returns the commands that
    /// remove expired runs.
    pub(super) async fn reserve(
        &self,
        id: &str,
        lease: u64,
    ) -> Result<Vec<KeyedCommand>, StoreError> {
        let (free, ended) = (self.free(), self.ended());
        let requests = [
            timed(RESERVE, &free, &[id.to_owned(), lease.to_string()]),
            timed(DUE, &ended, &["0".to_owned(), SWEPT.to_string()]),
        ];
        let mut replies = self.run(&requests).await?.into_iter().skip(1);
        let due = list(replies.next().unwrap_or_default()).into_iter().nth(1);
        let due = pairs(due.unwrap_or_default()).into_iter();
        let forgotten = due.flat_map(|(member, at)| {
            let (id, scope, created): (String, String, u64) =
                serde_json::from_str(&member).unwrap_or_default();
            let [all, of_scope] = self.out_of_lists(&id, &scope, created);
            [all, of_scope, taken_out(&ended, &member, at)]
        });
        Ok(forgotten.collect())
    }

    /// Returns the commands that add a run to the correct sets.
    pub(super) fn note(&self, id: &str, facts: &RunStatus) -> Vec<KeyedCommand> {
        let (free, ended) = (self.free(), self.ended());
        let mut requests = self.note_state(id, facts);
        if facts.state != RunState::Ended {
            let mut put = with_name("ZADD", &free);
            put.arg(facts.next_look()).arg(id);
            requests.push(request(&free, put));
            return requests;
        }
        let mut take = with_name("ZREM", &free);
        take.arg(id);
        let mut put = with_name("ZADD", &ended);
        put.arg(facts.now.saturating_add(self.keep_ms));
        put.arg(member(id, facts));
        requests.extend([request(&free, take), request(&ended, put)]);
        requests
    }

    /// Returns the commands that update a run in the lists.
    fn note_state(&self, id: &str, facts: &RunStatus) -> Vec<KeyedCommand> {
        let state = facts.state.as_str().to_owned();
        let arguments = [id.to_owned(), facts.created.to_string(), state];
        let sort = |scope| {
            let sets = self.sets(scope);
            script(SORT, &sets.each_ref().map(String::as_str), &arguments)
        };
        [None, Some(facts.scope.as_str())].map(sort).into()
    }

    /// Returns the command that records a renewed lease.
    pub(super) fn note_renewal(&self, id: &str, facts: &RunStatus) -> KeyedCommand {
        let (before, next) = (facts.code, facts.next_look());
        let arguments = [id.to_owned(), before.to_string(), next.to_string()];
        script(RENEWED, &[&self.free()], &arguments)
    }

    /// Returns the commands that remove a run from all sets.
    pub(super) fn forget(&self, id: &str, facts: &RunStatus) -> Vec<KeyedCommand> {
        let mut requests: Vec<KeyedCommand> =
            self.out_of_lists(id, &facts.scope, facts.created).into();
        let ended = self.ended();
        let mut command = with_name("ZREM", &ended);
        command.arg(member(id, facts));
        requests.push(request(&ended, command));
        requests
    }

    fn out_of_lists(&self, id: &str, scope: &str, created: u64) -> [KeyedCommand; 2] {
        let arguments = [id.to_owned(), created.to_string()];
        [None, Some(scope)].map(|scope| {
            let sets = self.sets(scope);
            script(TAKE, &sets.each_ref().map(String::as_str), &arguments)
        })
    }

    /// Returns the next ids of a set with their scores, latest first; empty at the end.
    pub(super) async fn page(
        &self,
        cursor: &mut Cursor,
        most: usize,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let mut command = with_name("ZREVRANGEBYSCORE", &cursor.set);
        command.arg(&cursor.highest).arg("-inf").arg("WITHSCORES");
        command.arg("LIMIT").arg(0);
        command.arg(most.clamp(1, PAGE) + cursor.seen.len());
        let page = self.client.ask(request(&cursor.set, command)).await?;
        let mut page = pairs(page);
        page.retain(|entry| !cursor.seen.contains(entry));
        if let Some((_, score)) = page.last() {
            cursor.seen.extend_from_slice(&page);
            cursor.seen.retain(|(_, other)| other == score);
            cursor.highest = score.to_string();
        }
        Ok(page)
    }

    /// Returns the runs that can be claimed, those waiting longest first.
    pub(super) async fn claimable(&self, most: usize) -> Result<Vec<Arc<str>>, StoreError> {
        let free = self.free();
        let (mut found, mut known) = (Vec::new(), HashSet::new());
        while found.len() < most {
            let page = (most - found.len()).clamp(LEAST, PAGE);
            let arguments = [found.len().to_string(), page.to_string()];
            let due = list(self.client.ask(timed(DUE, &free, &arguments)).await?);
            let [now, due] = <[Value; 2]>::try_from(due).unwrap_or_default();
            let due = pairs(due);
            let is_last = due.len() < page;
            let new = due.into_iter().filter(|(id, _)| known.insert(id.clone()));
            let new: Vec<(String, u64)> = new.collect();
            found.extend(self.looked_at(&free, count(&now), &new).await?);
            if is_last || new.is_empty() {
                break;
            }
        }
        found.sort();
        found.truncate(most);
        Ok(found.into_iter().map(|(_, id)| id.into()).collect())
    }

    /// Checks entries and returns the runs that can be claimed, with the time since when. The other
    /// entries are repaired.
    async fn looked_at(
        &self,
        free: &str,
        now: u64,
        due: &[(String, u64)],
    ) -> Result<Vec<(u64, String)>, StoreError> {
        let look = |(id, _): &(String, u64)| self.names(id).script(LOOK, &[]);
        let looks: Vec<KeyedCommand> = due.iter().map(look).collect();
        let looks = self.client.run(&looks).await?;
        let (mut found, mut mended) = (Vec::new(), Vec::new());
        for ((id, seen), look) in due.iter().zip(looks) {
            let facts = match look {
                Value::ServerError(error) => Err(error::of_reply(id, &error)),
                look => RunStatus::of(&self.names(id).run, look),
            };
            match facts {
                Ok(Some(facts)) => match facts.free {
                    Some(since) if since <= facts.now => found.push((since, id.clone())),
                    _ if facts.state == RunState::Ended => mended.extend(self.note(id, &facts)),
                    _ => {
                        mended.extend(self.note_state(id, &facts));
                        mended.push(moved(free, id, *seen, facts.next_look()));
                    }
                },
                Ok(None) => mended.push(taken_out(free, id, *seen)),
                Err(error) => {
                    tracing::warn!(run = %id, %error, "cannot resume a run");
                    let later = now.saturating_add(LOOK_AGAIN_MS);
                    mended.push(moved(free, id, *seen, later));
                }
            }
        }
        self.repair(&mended).await;
        Ok(found)
    }

    /// Updates the sets. A failure is only logged, because readers repair the sets.
    pub(super) async fn repair(&self, requests: &[KeyedCommand]) {
        if requests.is_empty() {
            return;
        }
        if let Err(error) = self.run(requests).await {
            tracing::warn!(%error, "lists of runs are out of date");
        }
    }

    /// Runs all commands; returns the first error reply as an error.
    async fn run(&self, requests: &[KeyedCommand]) -> Result<Vec<Value>, StoreError> {
        let replies = self.client.run(requests).await?;
        for (request, reply) in requests.iter().zip(&replies) {
            if let Value::ServerError(error) = reply {
                return Err(error::of_reply(&request.name, error));
            }
        }
        Ok(replies)
    }
}

impl RunStatus {
    /// Returns the time of the next check of a run that has not ended.
    fn next_look(&self) -> u64 {
        self.free.unwrap_or(self.now.saturating_add(LOOK_AGAIN_MS))
    }
}

/// Returns the member of a run in the set of ended runs, which contains everything needed to remove
/// the run.
fn member(id: &str, facts: &RunStatus) -> String {
    serde_json::json!([id, facts.scope, facts.created]).to_string()
}

/// Returns the command that removes an entry with this score from a set.
pub(super) fn taken_out(set: &str, member: &str, score: u64) -> KeyedCommand {
    script(TAKE, &[set], &[member.to_owned(), score.to_string()])
}

fn moved(set: &str, member: &str, score: u64, to: u64) -> KeyedCommand {
    let arguments = [member.to_owned(), score.to_string(), to.to_string()];
    script(MOVE, &[set], &arguments)
}

fn timed(text: &str, set: &str, arguments: &[String]) -> KeyedCommand {
    script(&[NOW, text].concat(), &[set], arguments)
}

fn request(set: &str, command: redis::Cmd) -> KeyedCommand {
    KeyedCommand {
        name: set.to_owned(),
        command,
    }
}
