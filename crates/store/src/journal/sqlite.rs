//! Journal in an SQLite file.
//!
//! A commit survives the end of the process, but not always that of the machine; see the settings
//! of [`crate::sqlite`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::journal::{
    Claim, Journal, JournalEntry, JournalEvent, RunFilter, RunHead, RunSnapshot, RunState,
};
use quillet_core::store::StoreError;
use quillet_core::{BoxFuture, clock};
use rusqlite::types::{ToSql, Type};
use rusqlite::{Connection, Error, OptionalExtension, Row, params, params_from_iter};

use super::{
    JournalOptions, exists, head_text, lost, may_interject, millis, not_ended, unreadable,
};
use crate::ids;
use crate::sqlite::{Database, SchemaModule};

/// Runs and their events. `head` contains the constant data for lists; mutable data has separate
/// columns, so the head is not rewritten. `free_ms` is the time from which the run may be claimed:
/// the end of its owner's lease, or the time at which it became ready. Waiting and ended runs have
/// none. Indexed columns change only with the state instead of each event.
static PART: SchemaModule = SchemaModule {
    name: "journal",
    steps: &["
        CREATE TABLE runs (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            scope TEXT NOT NULL,
            head TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            updated_ms INTEGER NOT NULL,
            last INTEGER NOT NULL,
            epoch INTEGER NOT NULL,
            state TEXT NOT NULL,
            waiting TEXT NOT NULL,
            free_ms INTEGER,
            ended_ms INTEGER) STRICT;
        CREATE INDEX runs_created ON runs (created_ms, id);
        CREATE INDEX runs_scope ON runs (scope, created_ms, id);
        CREATE INDEX runs_open ON runs (state, created_ms, id) WHERE ended_ms IS NULL;
        CREATE INDEX runs_free ON runs (free_ms, id) WHERE free_ms IS NOT NULL;
        CREATE INDEX runs_ended ON runs (ended_ms) WHERE ended_ms IS NOT NULL;
        CREATE TABLE steps (
            run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
            number INTEGER NOT NULL,
            at_ms INTEGER NOT NULL,
            step TEXT NOT NULL,
            PRIMARY KEY (run, number)) STRICT, WITHOUT ROWID;"],
};

/// Maximum lease in milliseconds. A claim with a later end was made before the clock was set back,
/// and must not block other processes.
// A clock that was set back would otherwise block a run for as long as the difference.
const LONGEST_LEASE_MS: u64 = 3_600_000;

fn lease_ms(lease: Duration) -> u64 {
    millis(lease).min(LONGEST_LEASE_MS)
}

/// Returns the latest time at which a valid claim can end.
fn beyond(now: u64) -> u64 {
    now.saturating_add(LONGEST_LEASE_MS)
}

/// Selects the columns of a head.
const HEAD: &str = "SELECT head, updated_ms, last, state, waiting FROM runs";

/// Condition for runs that must not be deleted yet.
const KEPT: &str = "(ended_ms IS NULL OR ended_ms > ?1)";

/// Maximum number of expired runs that starting a run deletes.
// This bounds the time that a new run waits for the deletion of old runs.
const SWEPT: usize = 64;

/// Journal in an SQLite file.
#[derive(Debug)]
pub struct SqliteJournal {
    options: Arc<JournalOptions>,
    file: Database,
}

/// Author of new events.
#[derive(Clone, Copy)]
enum StepAuthor {
    /// The owner with this epoch.
    Owner(u64),
    /// Another client that knows the events up to this number.
    Other(u64),
}

/// State of a run before a write.
struct RunRow {
    number: i64,
    last: u64,
    epoch: u64,
    state: RunState,
}

impl SqliteJournal {
    /// Opens or creates the file. `:memory:` creates a database that is deleted on drop.
    ///
    /// # Errors
    /// `Configuration` for an invalid path or a file of a newer version; `Corrupt` for a file that
    /// is not an SQLite database.
    pub async fn open(path: &Path, options: JournalOptions) -> Result<Self, StoreError> {
        Ok(SqliteJournal {
            options: Arc::new(options),
            file: Database::open(path, &PART).await?,
        })
    }

    /// Returns the time before which ended runs are expired.
    fn horizon(&self) -> u64 {
        clock::millis().saturating_sub(self.options.keep_ms())
    }

    async fn first(
        &self,
        head: &RunHead,
        steps: &[JournalEvent],
        lease: Duration,
    ) -> Result<Claim, StoreError> {
        let id = ids::checked("run", &head.id)?.to_owned();
        let texts = self.options.texts(&id, steps)?;
        self.options
            .has_room(&id, 0, texts.len(), RunState::Running)?;
        let (scope, created) = (head.scope.clone(), signed(head.created_ms));
        let head = head_text(head)?;
        let keep = self.options.keep_ms();
        let work = move |file: &Connection| {
            let now = clock::millis();
            // Old runs are deleted in the same transaction as the insert, so an expired run does
            // not block the reuse of its id.
            sweep(file, &id, now.saturating_sub(keep))?;
            let put = "INSERT INTO runs
                (id, scope, head, created_ms, updated_ms, last, epoch, state, waiting, free_ms)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, 'running', '[]', ?7)
                ON CONFLICT (id) DO NOTHING";
            let free = now.saturating_add(lease_ms(lease));
            let new = params![id, scope, head, created, now, texts.len(), free];
            if file.execute(put, new)? == 0 {
                return Err(exists(&id).into());
            }
            let last = add(file, file.last_insert_rowid(), 0, now, &texts)?;
            Ok(Claim { epoch: 1, last })
        };
        self.file.attempt(work).await
    }

    async fn take(&self, run: &str, lease: Duration) -> Result<Option<Claim>, StoreError> {
        let id = ids::checked("run", run)?.to_owned();
        let work = move |file: &Connection| {
            let now = clock::millis();
            let take = "UPDATE runs SET epoch = epoch + 1, state = 'running', free_ms = ?2
                        WHERE id = ?3 AND (free_ms <= ?1 OR free_ms > ?4)
                        RETURNING epoch, last";
            let claim = |row: &Row<'_>| {
                Ok(Claim {
                    epoch: row.get(0)?,
                    last: row.get(1)?,
                })
            };
            let free = now.saturating_add(lease_ms(lease));
            file.query_row(take, params![now, free, id, beyond(now)], claim)
                .optional()
        };
        self.file.change(work).await
    }

    async fn hold(&self, run: &str, epoch: u64, lease: Duration) -> Result<bool, StoreError> {
        let id = ids::checked("run", run)?.to_owned();
        let work = move |file: &Connection| {
            let free = clock::millis().saturating_add(lease_ms(lease));
            let put = "UPDATE runs SET free_ms = ?3
                       WHERE id = ?1 AND epoch = ?2 AND state = 'running'";
            file.execute(put, params![id, signed(epoch), free])
        };
        Ok(self.file.change(work).await? == 1)
    }

    /// Appends events and returns the number of the last; `None` if the writer is not allowed to.
    async fn write(
        &self,
        run: &str,
        by: StepAuthor,
        steps: &[JournalEvent],
        standing: &RunSnapshot,
    ) -> Result<Option<u64>, StoreError> {
        let id = ids::checked("run", run)?.to_owned();
        let texts = self.options.texts(&id, steps)?;
        let waiting = self.options.waiting(&id, standing)?;
        let state = standing.state;
        let options = self.options.clone();
        let work = move |file: &Connection| {
            let Some(found) = found(file, &id)?.filter(|found| by.may(found)) else {
                return Ok(None);
            };
            options.has_room(&id, found.last, texts.len(), state)?;
            let now = clock::millis();
            let last = add(file, found.number, found.last, now, &texts)?;
            let put = "UPDATE runs SET last = ?2, updated_ms = ?3, waiting = ?4 WHERE number = ?1";
            file.execute(put, params![found.number, last, now, waiting])?;
            if state != found.state {
                // A waiting or ended run has no time, which also excludes it from the partial
                // index.
                let free = (state == RunState::Ready).then_some(now);
                let ended = (state == RunState::Ended).then_some(now);
                let put = "UPDATE runs SET state = ?2, free_ms = ?3, ended_ms = ?4
                           WHERE number = ?1";
                file.execute(put, params![found.number, state.as_str(), free, ended])?;
            }
            Ok(Some(last))
        };
        self.file.attempt(work).await
    }

    async fn one(&self, run: &str) -> Result<Option<RunHead>, StoreError> {
        let id = ids::checked("run", run)?.to_owned();
        let horizon = self.horizon();
        let work = move |file: &mut Connection| {
            let mut one = file.prepare(&format!("{HEAD} WHERE {KEPT} AND id = ?2"))?;
            one.query_row(params![horizon, id], head).optional()
        };
        self.file.run(work).await
    }

    async fn steps(
        &self,
        run: &str,
        after: u64,
        most: usize,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        let id = ids::checked("run", run)?.to_owned();
        let (horizon, after, most) = (self.horizon(), signed(after), limit(most));
        let work = move |file: &mut Connection| {
            let mut steps = file.prepare(&format!(
                "SELECT steps.number, at_ms, step FROM steps JOIN runs ON run = runs.number
                 WHERE {KEPT} AND id = ?2 AND steps.number > ?3 ORDER BY steps.number LIMIT ?4"
            ))?;
            let text = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let rows = steps.query_map(params![horizon, id, after, most], text)?;
            rows.collect()
        };
        let texts: Vec<(u64, u64, String)> = self.file.run(work).await?;
        let steps = texts.into_iter().map(|(number, at_ms, text)| {
            let step = serde_json::from_str(&text);
            Ok(JournalEntry {
                number,
                at_ms,
                step: step.map_err(|error| unreadable(run, number, &error))?,
            })
        });
        steps.collect()
    }

    async fn heads(&self, filter: &RunFilter) -> Result<Vec<RunHead>, StoreError> {
        let (filter, horizon) = (filter.clone(), self.horizon());
        let work = move |file: &mut Connection| {
            // The statement contains only the requested conditions, because SQLite cannot use an
            // index for optional conditions.
            let mut wanted = format!("{HEAD} WHERE {KEPT}");
            let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(horizon)];
            let mut and = |condition: &str, value: Box<dyn ToSql>| {
                values.push(value);
                wanted += &format!(" AND {condition} ?{}", values.len());
            };
            if let Some(scope) = filter.scope {
                and("scope =", Box::new(scope));
            }
            if let Some(before) = filter.before_ms {
                and("created_ms <", Box::new(signed(before)));
            }
            if let Some(state) = filter.state {
                let is_open = if state == RunState::Ended { "NOT" } else { "" };
                let state = Box::new(state.as_str());
                and(&format!("ended_ms IS {is_open} NULL AND state ="), state);
            }
            wanted += &format!(
                " ORDER BY created_ms DESC, id DESC LIMIT {}",
                limit(filter.most)
            );
            let mut list = file.prepare(&wanted)?;
            let rows = list.query_map(params_from_iter(values), head)?;
            rows.collect()
        };
        self.file.run(work).await
    }

    async fn free(&self, most: usize) -> Result<Vec<Arc<str>>, StoreError> {
        let work = move |file: &mut Connection| {
            let now = clock::millis();
            let free = "SELECT id FROM runs WHERE free_ms <= ?1 OR free_ms > ?3
                        ORDER BY free_ms, id LIMIT ?2";
            let mut free = file.prepare(free)?;
            let rows = free.query_map(params![now, limit(most), beyond(now)], |row| row.get(0))?;
            rows.collect()
        };
        self.file.run(work).await
    }

    async fn forget(&self, run: &str) -> Result<bool, StoreError> {
        let id = ids::checked("run", run)?.to_owned();
        let horizon = self.horizon();
        let work = move |file: &Connection| {
            let ended = format!("SELECT ended_ms IS NOT NULL FROM runs WHERE {KEPT} AND id = ?2");
            let ended = file.query_row(&ended, params![horizon, id], |row| row.get(0));
            match ended.optional()? {
                None => Ok(false),
                Some(false) => Err(not_ended(&id).into()),
                Some(true) => {
                    file.execute("DELETE FROM runs WHERE id = ?1", [&id])?;
                    Ok(true)
                }
            }
        };
        self.file.attempt::<bool, _>(work).await
    }
}

impl StepAuthor {
    fn may(self, run: &RunRow) -> bool {
        match self {
            // The lease is not checked: while the epoch is unchanged, no other owner has claimed
            // the run.
            StepAuthor::Owner(epoch) => epoch == run.epoch && run.state == RunState::Running,
            StepAuthor::Other(last) => {
                last == run.last && matches!(run.state, RunState::Waiting | RunState::Ready)
            }
        }
    }
}

fn found(file: &Connection, run: &str) -> rusqlite::Result<Option<RunRow>> {
    let found = "SELECT number, last, epoch, state FROM runs WHERE id = ?1";
    let read = |row: &Row<'_>| {
        Ok(RunRow {
            number: row.get(0)?,
            last: row.get(1)?,
            epoch: row.get(2)?,
            state: state(row, 3)?,
        })
    };
    file.query_row(found, [run], read).optional()
}

/// Deletes expired runs: the one with the requested id, and a limited number of others.
fn sweep(file: &Connection, run: &str, horizon: u64) -> rusqlite::Result<()> {
    let old = "DELETE FROM runs WHERE ended_ms <= ?1 AND
               (id = ?2 OR number IN (SELECT number FROM runs WHERE ended_ms <= ?1 LIMIT ?3))";
    file.execute(old, params![horizon, run, SWEPT])?;
    Ok(())
}

/// Appends events and returns the number of the last.
fn add(
    file: &Connection,
    run: i64,
    mut last: u64,
    now: u64,
    texts: &[String],
) -> rusqlite::Result<u64> {
    let mut put = file.prepare("INSERT INTO steps VALUES (?1, ?2, ?3, ?4)")?;
    for text in texts {
        last += 1;
        put.execute(params![run, last, now, text])?;
    }
    Ok(last)
}

fn head(row: &Row<'_>) -> rusqlite::Result<RunHead> {
    Ok(RunHead {
        updated_ms: row.get(1)?,
        last: row.get(2)?,
        standing: RunSnapshot {
            state: state(row, 3)?,
            waiting: read(row, 4)?,
        },
        ..read(row, 0)?
    })
}

fn state(row: &Row<'_>, column: usize) -> rusqlite::Result<RunState> {
    let name = row.get_ref(column)?.as_str()?;
    let unknown = || {
        let message = format!("unknown run state {name:?}");
        Error::FromSqlConversionFailure(column, Type::Text, message.into())
    };
    RunState::from_name(name).ok_or_else(unknown)
}

fn read<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    let wrong = |error| Error::FromSqlConversionFailure(column, Type::Text, Box::new(error));
    serde_json::from_str(text).map_err(wrong)
}

/// Converts a number for SQLite, limited to its maximum.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

impl Journal for SqliteJournal {
    fn describe(&self) -> String {
        format!("sqlite {}", self.file.path())
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
        self.free(most).boxed()
    }

    fn remove<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.forget(run).boxed()
    }
}
