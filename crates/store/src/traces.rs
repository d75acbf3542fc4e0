//! Traces of runs in an SQLite file.
//!
//! Recording never waits: a trace is queued for the database thread. If the queue is full, the
//! trace is dropped and counted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::trace::{
    RUN_ATTRIBUTE, Span, SpanKind, Trace, TraceFilter, TraceInfo, TraceReader, TraceSink,
};
use quillet_core::{BoxFuture, clock};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Row, params};

use crate::sqlite::{Database, SchemaModule};

static PART: SchemaModule = SchemaModule {
    name: "traces",
    steps: &[
        "
        CREATE TABLE traces (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL,
            started_us INTEGER NOT NULL,
            duration_us INTEGER NOT NULL,
            name TEXT NOT NULL,
            model TEXT,
            input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL,
            error TEXT,
            spans INTEGER NOT NULL,
            body TEXT NOT NULL) STRICT;
        CREATE INDEX traces_id ON traces (id);
        CREATE INDEX traces_started ON traces (started_us);",
        "
        CREATE TABLE trace_spans (
            id TEXT NOT NULL, trace INTEGER NOT NULL, PRIMARY KEY (id, trace))
            STRICT, WITHOUT ROWID;",
        "
        ALTER TABLE traces ADD COLUMN run TEXT;
        CREATE INDEX traces_run ON traces (run) WHERE run IS NOT NULL;",
    ],
};

/// Number of traces between two searches for old ones.
const PRUNE_EVERY: u64 = 64;

/// Limits on stored traces.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// Maximum number of traces; 10,000. Beyond this number, the oldest traces are removed.
    pub max_traces: u64,
    /// How long a trace is stored; 7 days.
    pub max_age: Duration,
    /// Maximum number of queued traces; 1024. Further traces are dropped and counted.
    pub max_waiting: usize,
    /// Maximum size of a trace as JSON; 4 MiB. Larger traces are dropped and counted.
    pub max_trace_bytes: usize,
}

impl Default for TraceOptions {
    fn default() -> Self {
        TraceOptions {
            max_traces: 10_000,
            max_age: Duration::from_secs(7 * 24 * 3600),
            max_waiting: 1024,
            max_trace_bytes: 4 << 20,
        }
    }
}

/// Traces in an SQLite file.
#[derive(Debug)]
pub struct TraceStore {
    database: Database,
    options: TraceOptions,
    counts: Arc<TraceCounters>,
}

#[derive(Debug, Default)]
struct TraceCounters {
    waiting: AtomicUsize,
    written: AtomicU64,
    dropped: AtomicU64,
}

impl TraceStore {
    /// Opens or creates the file. When the store is dropped, it first writes the queued traces.
    ///
    /// # Errors
    /// `Configuration` for an invalid path or a file of a newer version; `Corrupt` for a file that
    /// is not an SQLite database.
    pub async fn open(path: &Path, options: TraceOptions) -> Result<Self, StoreError> {
        let database = Database::open(path, &PART).await?;
        let bounds = options.clone();
        database.run(move |file| prune(file, &bounds)).await?;
        Ok(TraceStore {
            database,
            options,
            counts: Arc::default(),
        })
    }

    /// Returns the number of traces dropped since the start.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all queued traces are written.
    ///
    /// # Errors
    /// `Unavailable` if the database thread has ended.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.database.run(|_| Ok(())).await
    }

    /// Returns at most `most` traces that match the filter, latest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn list(
        &self,
        filter: &TraceFilter,
        most: usize,
    ) -> Result<Vec<TraceInfo>, StoreError> {
        let filter = filter.clone();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.database
            .run(move |file| list(file, &filter, most))
            .await
    }

    /// Returns the trace whose id starts with `prefix`. If several traces have the same id, the
    /// latest is returned.
    ///
    /// # Errors
    /// `Refused` if several ids begin with `prefix`, or if it is empty.
    pub async fn get(&self, prefix: &str) -> Result<Option<Trace>, StoreError> {
        let wanted = prefix.to_ascii_lowercase();
        if wanted.is_empty() {
            return Err(refused("the id of the trace is empty".to_owned()));
        }
        let ids = self.database.run(move |file| ids(file, &wanted)).await?;
        match <[String; 1]>::try_from(ids) {
            Ok([id]) => self.database.run(move |file| body(file, &id)).await,
            Err(ids) if ids.is_empty() => Ok(None),
            Err(ids) => Err(refused(format!(
                "several traces start with {prefix:?}: {}; give more digits",
                ids.join(", ")
            ))),
        }
    }
}

fn refused(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Refused, message)
}

impl TraceSink for TraceStore {
    fn record(&self, trace: Arc<Trace>) {
        let counts = self.counts.clone();
        if counts.waiting.fetch_add(1, Ordering::Relaxed) >= self.options.max_waiting {
            counts.waiting.fetch_sub(1, Ordering::Relaxed);
            counts.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let options = self.options.clone();
        self.database.post(Box::new(move |file| {
            counts.waiting.fetch_sub(1, Ordering::Relaxed);
            match write(file, &trace, &options, &counts) {
                Ok(true) => {}
                Ok(false) => _ = counts.dropped.fetch_add(1, Ordering::Relaxed),
                Err(error) => {
                    counts.dropped.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(%error, "cannot write a trace");
                }
            }
        }));
    }
}

impl TraceReader for TraceStore {
    fn list<'a>(
        &'a self,
        filter: &'a TraceFilter,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<TraceInfo>, StoreError>> {
        Box::pin(self.list(filter, most))
    }

    fn trace<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Trace>, StoreError>> {
        let (id, most) = (id.to_owned(), self.options.max_trace_bytes);
        Box::pin(self.database.run(move |file| whole(file, &id, most)))
    }

    fn trace_of_span<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Trace>, StoreError>> {
        let (id, most) = (id.to_owned(), self.options.max_trace_bytes);
        let look = move |file: &mut Connection| match trace_of(file, &id)? {
            Some(trace) => whole(file, &trace, most),
            None => Ok(None),
        };
        Box::pin(self.database.run(look))
    }
}

/// Writes a trace; returns whether it was small enough.
fn write(
    file: &Connection,
    trace: &Trace,
    options: &TraceOptions,
    counts: &TraceCounters,
) -> rusqlite::Result<bool> {
    let wrong = |error: serde_json::Error| Error::ToSqlConversionFailure(Box::new(error));
    let body = serde_json::to_string(trace).map_err(wrong)?;
    let Some(root) = trace
        .spans
        .first()
        .filter(|_| body.len() <= options.max_trace_bytes)
    else {
        return Ok(false);
    };
    let error = trace.spans.iter().find_map(|span| span.error.as_deref());
    let change = file.unchecked_transaction()?;
    change.execute(
        "INSERT INTO traces (id, started_us, duration_us, name, model, input_tokens,
         output_tokens, error, spans, body, run)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            trace.id,
            signed(root.started_us),
            signed(root.duration_us),
            root.name,
            model(trace),
            signed(tokens(trace, "gen_ai.usage.input_tokens")),
            signed(tokens(trace, "gen_ai.usage.output_tokens")),
            error,
            trace.spans.len(),
            body,
            root.attributes
                .get(RUN_ATTRIBUTE)
                .and_then(|run| run.as_str())
        ],
    )?;
    let number = change.last_insert_rowid();
    let mut row = change.prepare("INSERT OR IGNORE INTO trace_spans VALUES (?1, ?2)")?;
    for span in &trace.spans {
        row.execute(params![span.id, number])?;
    }
    drop(row);
    change.commit()?;
    if counts.written.fetch_add(1, Ordering::Relaxed) % PRUNE_EVERY == PRUNE_EVERY - 1 {
        prune(file, options)?;
    }
    Ok(true)
}

/// SQLite integers are signed.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn models(trace: &Trace) -> impl Iterator<Item = &Span> {
    let is_model = |span: &&Span| span.kind == SpanKind::Model;
    trace.spans.iter().filter(is_model)
}

fn model(trace: &Trace) -> Option<&str> {
    models(trace).find_map(|span| span.attributes.get("gen_ai.request.model")?.as_str())
}

fn tokens(trace: &Trace, name: &str) -> u64 {
    let counts = models(trace).filter_map(|span| span.attributes.get(name)?.as_u64());
    counts.fold(0, u64::saturating_add)
}

/// Removes the oldest traces until the limits are met.
fn prune(file: &Connection, options: &TraceOptions) -> rusqlite::Result<()> {
    let oldest = clock::since_epoch().saturating_sub(options.max_age);
    let oldest = i64::try_from(oldest.as_micros()).unwrap_or(i64::MAX);
    file.execute("DELETE FROM traces WHERE started_us < ?1", [oldest])?;
    let many = "DELETE FROM traces WHERE number <=
                (SELECT number FROM traces ORDER BY number DESC LIMIT 1 OFFSET ?1)";
    file.execute(many, [signed(options.max_traces)])?;
    let alone = "DELETE FROM trace_spans WHERE trace NOT IN (SELECT number FROM traces)";
    file.execute(alone, [])?;
    Ok(())
}

fn list(file: &Connection, filter: &TraceFilter, most: i64) -> rusqlite::Result<Vec<TraceInfo>> {
    let mut found = file.prepare(
        "SELECT id, started_us, duration_us, name, model, input_tokens, output_tokens, error, spans,
         number FROM traces WHERE started_us >= ?1 AND (NOT ?2 OR error IS NOT NULL)
         AND (?3 IS NULL OR instr(lower(name), lower(?3)) OR instr(lower(model), lower(?3)))
         AND number < ?4 AND (?6 IS NULL OR run = ?6) ORDER BY number DESC LIMIT ?5",
    )?;
    let before = signed(filter.before.unwrap_or(u64::MAX));
    let filter = params![
        signed(filter.since_us),
        filter.failed,
        filter.text,
        before,
        most,
        filter.run
    ];
    found.query_map(filter, info)?.collect()
}

fn info(row: &Row<'_>) -> rusqlite::Result<TraceInfo> {
    Ok(TraceInfo {
        id: row.get(0)?,
        started_us: row.get(1)?,
        duration_us: row.get(2)?,
        name: row.get(3)?,
        model: row.get(4)?,
        input_tokens: row.get(5)?,
        output_tokens: row.get(6)?,
        error: row.get(7)?,
        spans: row.get(8)?,
        number: row.get(9)?,
    })
}

/// Returns a few ids with this prefix.
fn ids(file: &Connection, prefix: &str) -> rusqlite::Result<Vec<String>> {
    let mut found = file.prepare(
        "SELECT DISTINCT id FROM traces
         WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT 5",
    )?;
    found.query_map([prefix], |row| row.get(0))?.collect()
}

fn body(file: &Connection, id: &str) -> rusqlite::Result<Option<Trace>> {
    let latest = "SELECT body FROM traces WHERE id = ?1 ORDER BY number DESC LIMIT 1";
    file.query_row(latest, [id], trace_in).optional()
}

fn trace_in(row: &Row<'_>) -> rusqlite::Result<Trace> {
    let wrong = |error| Error::FromSqlConversionFailure(0, Type::Text, Box::new(error));
    serde_json::from_str(row.get_ref(0)?.as_str()?).map_err(wrong)
}

/// Merges all recorded parts of a trace. If a span was recorded twice, the later one is used. If
/// the parts exceed the maximum size, only the latest ones are used.
fn whole(file: &Connection, id: &str, most: usize) -> rusqlite::Result<Option<Trace>> {
    let mut parts = file.prepare("SELECT body FROM traces WHERE id = ?1 ORDER BY number DESC")?;
    let mut rows = parts.query([id])?;
    let (mut spans, mut bytes) = (BTreeMap::new(), 0);
    while let Some(row) = rows.next()? {
        bytes += row.get_ref(0)?.as_str()?.len();
        if bytes > most {
            break;
        }
        for span in trace_in(row)?.spans {
            spans.entry(span.id.clone()).or_insert(span);
        }
    }
    let mut spans: Vec<Span> = spans.into_values().collect();
    spans.sort_by_key(|span| (span.parent.is_some(), span.started_us));
    Ok((!spans.is_empty()).then(|| Trace {
        id: id.to_owned(),
        spans,
    }))
}

/// Returns the id of the latest trace that contains a span.
fn trace_of(file: &Connection, span: &str) -> rusqlite::Result<Option<String>> {
    let latest = "SELECT traces.id FROM trace_spans JOIN traces ON number = trace
                  WHERE trace_spans.id = ?1 ORDER BY trace DESC LIMIT 1";
    file.query_row(latest, [span], |row| row.get(0)).optional()
}
