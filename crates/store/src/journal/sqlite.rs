//! A journal in an SQLite file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::journal::{Claim, Entry, Journal, RunFilter, RunHead, Standing, State, Step};
use quillet_core::store::StoreError;
use quillet_core::{BoxFuture, clock};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Row, params};

use super::{JournalOptions, exists, lost, not_ended, written};
use crate::ids;
use crate::sqlite::{Database, Part, Undone};

/// Runs and their steps. `head` is what lists show; what changes with every step has columns of its
/// own, so that it is not written again. `lease_ms` is when the owner's right ends; a run that
/// nobody owns has 0.
static PART: Part = Part {
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
            lease_ms INTEGER NOT NULL,
            state TEXT NOT NULL,
            standing TEXT NOT NULL) STRICT;
        CREATE INDEX runs_state ON runs (state, updated_ms);
        CREATE INDEX runs_scope ON runs (scope, created_ms);
        CREATE INDEX runs_created ON runs (created_ms);
        CREATE TABLE steps (
            run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
            number INTEGER NOT NULL,
            at_ms INTEGER NOT NULL,
            step TEXT NOT NULL,
            PRIMARY KEY (run, number)) STRICT, WITHOUT ROWID;"],
};

/// A run that may be claimed: nobody holds it, and it is to go on.
const FREE: &str = "(state = 'ready' OR state = 'running' AND lease_ms <= ?1)";

/// A journal in a file.
#[derive(Debug)]
pub struct SqliteJournal {
    options: Arc<JournalOptions>,
    file: Database,
}

impl SqliteJournal {
    /// Opens the file, or makes it. `:memory:` is one that lives and dies with the value.
    ///
    /// # Errors
    /// `Configuration` for a place where no file can be, or a file of a newer version; `Corrupt`
    /// for a file that is none of SQLite's.
    pub async fn open(path: &Path, options: JournalOptions) -> Result<Self, StoreError> {
        Ok(SqliteJournal {
            options: Arc::new(options),
            file: Database::open(path, &PART).await?,
        })
    }

    fn texts(&self, run: &str, steps: &[Step]) -> Result<Vec<String>, StoreError> {
        let text = |step: &Step| {
            let text = written(step)?;
            self.options.fits(run, step.name(), text.len())?;
            Ok(text)
        };
        steps.iter().map(text).collect()
    }

    async fn first(
        &self,
        head: &RunHead,
        steps: &[Step],
        lease: Duration,
    ) -> Result<Claim, StoreError> {
        let id = ids::checked("run", &head.id)?.to_owned();
        let texts = self.texts(&id, steps)?;
        let (scope, created) = (head.scope.to_string(), head.created_ms);
        let head = written(head)?;
        let standing = written(&Standing::at(State::Running))?;
        let keep = self.options.keep;
        let work = move |file: &Connection| {
            let now = clock::millis();
            let old = "DELETE FROM runs WHERE state = 'ended' AND updated_ms < ?1";
            file.execute(old, [now.saturating_sub(millis(keep))])?;
            let put = "INSERT INTO runs
                (id, scope, head, created_ms, updated_ms, last, epoch, lease_ms, state, standing)
                VALUES (?1, ?2, ?3, ?4, ?5, 0, 1, ?6, 'running', ?7) ON CONFLICT (id) DO NOTHING";
            let until = now.saturating_add(millis(lease));
            let new = params![id, scope, head, created, now, until, standing];
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
            let take = format!(
                "UPDATE runs SET epoch = epoch + 1, lease_ms = ?2, state = 'running'
                 WHERE id = ?3 AND {FREE} RETURNING epoch, last"
            );
            let until = now.saturating_add(millis(lease));
            let claim = |row: &Row<'_>| {
                Ok(Claim {
                    epoch: row.get(0)?,
                    last: row.get(1)?,
                })
            };
            file.query_row(&take, params![now, until, id], claim)
                .optional()
        };
        self.file.change(work).await
    }

    async fn write(
        &self,
        run: &str,
        by: By,
        steps: &[Step],
        standing: &Standing,
    ) -> Result<Option<u64>, StoreError> {
        let id = ids::checked("run", run)?.to_owned();
        let texts = self.texts(&id, steps)?;
        let state = standing.state.as_str();
        let standing = written(standing)?;
        let options = self.options.clone();
        let work = move |file: &Connection| {
            let found = "SELECT number, last, epoch, state FROM runs WHERE id = ?1";
            let found = file.query_row(found, [&id], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, u64>(1)?,
                    row.get::<_, u64>(2)?,
                    row.get::<_, String>(3)?,
                ))
            });
            let Some((number, last, epoch, before)) = found.optional()? else {
                return Ok(None);
            };
            let may = match by {
                By::Owner(claimed) => claimed == epoch && before == "running",
                By::Other(seen) => seen == last && (before == "waiting" || before == "ready"),
            };
            if !may {
                return Ok(None);
            }
            // The last step is written in any case: a run that cannot end would go on for ever.
            if state != "ended" {
                options.has_room(&id, last)?;
            }
            let now = clock::millis();
            let last = add(file, number, last, now, &texts)?;
            let put = "UPDATE runs SET last = ?2, updated_ms = ?3, state = ?4, standing = ?5
                       WHERE number = ?1";
            file.execute(put, params![number, last, now, state, standing])?;
            Ok(Some(last))
        };
        self.file.attempt(work).await
    }

    async fn steps(&self, run: &str, after: u64, most: usize) -> Result<Vec<Entry>, StoreError> {
        let id = ids::checked("run", run)?.to_owned();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let work = move |file: &mut Connection| {
            let mut steps = file.prepare(
                "SELECT steps.number, at_ms, step FROM steps JOIN runs ON run = runs.number
                 WHERE id = ?1 AND steps.number > ?2 ORDER BY steps.number LIMIT ?3",
            )?;
            let rows = steps.query_map(params![id, after, most], entry)?;
            rows.collect()
        };
        self.file.run(work).await
    }

    async fn heads(&self, filter: &RunFilter) -> Result<Vec<RunHead>, StoreError> {
        let filter = filter.clone();
        let work = move |file: &mut Connection| {
            let mut list = file.prepare(
                "SELECT head, updated_ms, last, standing FROM runs
                 WHERE (?1 IS NULL OR scope = ?1) AND (?2 IS NULL OR state = ?2)
                   AND (?3 IS NULL OR created_ms < ?3)
                 ORDER BY created_ms DESC, number DESC LIMIT ?4",
            )?;
            let most = i64::try_from(filter.most).unwrap_or(i64::MAX);
            let state = filter.state.map(State::as_str);
            let rows = list.query_map(
                params![filter.scope.as_deref(), state, filter.before_ms, most],
                head,
            )?;
            rows.collect()
        };
        self.file.run(work).await
    }
}

/// Who adds a step.
#[derive(Clone, Copy)]
enum By {
    /// The owner of this epoch.
    Owner(u64),
    /// Somebody who has seen the step of this number last.
    Other(u64),
}

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
    let count = "UPDATE runs SET last = ?2, updated_ms = ?3 WHERE number = ?1";
    file.prepare(count)?.execute(params![run, last, now])?;
    Ok(last)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        number: row.get(0)?,
        at_ms: row.get(1)?,
        step: read(row, 2)?,
    })
}

fn head(row: &Row<'_>) -> rusqlite::Result<RunHead> {
    Ok(RunHead {
        updated_ms: row.get(1)?,
        last: row.get(2)?,
        standing: read(row, 3)?,
        ..read(row, 0)?
    })
}

fn read<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    let wrong = |error| Error::FromSqlConversionFailure(column, Type::Text, Box::new(error));
    serde_json::from_str(text).map_err(wrong)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX >> 1)
}

impl Journal for SqliteJournal {
    fn describe(&self) -> String {
        format!("sqlite {}", self.file.path())
    }

    fn begin<'a>(
        &'a self,
        head: &'a RunHead,
        steps: &'a [Step],
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
        async move {
            let id = ids::checked("run", run)?.to_owned();
            let work = move |file: &Connection| {
                let until = clock::millis().saturating_add(millis(lease));
                let put = "UPDATE runs SET lease_ms = ?3
                           WHERE id = ?1 AND epoch = ?2 AND state = 'running'";
                file.execute(put, params![id, epoch, until])
            };
            Ok(self.file.change(work).await? == 1)
        }
        .boxed()
    }

    fn append<'a>(
        &'a self,
        run: &'a str,
        epoch: u64,
        steps: &'a [Step],
        standing: &'a Standing,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        async move {
            let written = self.write(run, By::Owner(epoch), steps, standing).await?;
            written.ok_or_else(|| lost(run))
        }
        .boxed()
    }

    fn interject<'a>(
        &'a self,
        run: &'a str,
        last: u64,
        step: &'a Step,
        standing: &'a Standing,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let steps = std::slice::from_ref(step);
            let written = self.write(run, By::Other(last), steps, standing).await?;
            Ok(written.is_some())
        }
        .boxed()
    }

    fn head<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<RunHead>, StoreError>> {
        async move {
            let id = ids::checked("run", run)?.to_owned();
            let work = move |file: &mut Connection| {
                let select = "SELECT head, updated_ms, last, standing FROM runs WHERE id = ?1";
                let mut select = file.prepare(select)?;
                select.query_row([id], head).optional()
            };
            self.file.run(work).await
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        self.steps(run, after, most).boxed()
    }

    fn list<'a>(
        &'a self,
        filter: &'a RunFilter,
    ) -> BoxFuture<'a, Result<Vec<RunHead>, StoreError>> {
        self.heads(filter).boxed()
    }

    fn abandoned(&self, most: usize) -> BoxFuture<'_, Result<Vec<Arc<str>>, StoreError>> {
        async move {
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let work = move |file: &mut Connection| {
                // Each state by its index: a list of all runs would be read every second.
                let free = format!(
                    "SELECT id FROM runs WHERE state IN ('ready', 'running') AND {FREE}
                     ORDER BY updated_ms LIMIT ?2"
                );
                let mut free = file.prepare(&free)?;
                let rows = free.query_map(params![clock::millis(), most], |row| row.get(0))?;
                rows.collect()
            };
            self.file.run(work).await
        }
        .boxed()
    }

    fn remove<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let id = ids::checked("run", run)?.to_owned();
            let work = move |file: &Connection| {
                let state = file.query_row("SELECT state FROM runs WHERE id = ?1", [&id], |row| {
                    row.get::<_, String>(0)
                });
                match state.optional()?.as_deref() {
                    None => Ok(false),
                    Some("ended") => {
                        file.execute("DELETE FROM runs WHERE id = ?1", [&id])?;
                        Ok(true)
                    }
                    Some(_) => Err(Undone::Refused(not_ended(&id))),
                }
            };
            self.file.attempt(work).await
        }
        .boxed()
    }
}
