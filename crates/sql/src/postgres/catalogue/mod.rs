//! Reads the catalogue from `pg_catalog`, in one round of queries over one snapshot.
//!
//! Each query reads one system table in its natural order, and the results are joined here. Saving
//! the server a join over a hundred thousand columns is worth the additional code.

mod assembly;
mod statements;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::error;
use super::server::PostgresServer;
use super::session::PostgresSession;
use crate::database::ProgressFn;
use crate::{Catalogue, DatabaseError, DatabaseErrorKind as Kind, SqlDialect};
use assembly::{
    About, Attribute, BaseTypeRow, CatalogueParts, CheckRow, KeyRow, Label, Note, RelationRow,
    TypeName,
};

/// Maximum bytes of a whole catalogue on the wire, about fifty times the size for ten thousand
/// tables.
const BYTES: u64 = 1 << 30;

/// Number of queries, for progress reports.
const STEPS: u64 = 10;

/// Reads everything that the role may see.
pub(super) async fn read(
    server: &Arc<PostgresServer>,
    timeout: Duration,
    progress: ProgressFn<'_>,
) -> Result<Catalogue, DatabaseError> {
    progress(0, STEPS, "connecting");
    let work = async {
        let mut session = open(server, timeout).await?;
        let answers = ask_all(&session.client, progress).await;
        let answers = answers.map_err(|error| failure(&session, &error))?;
        session.roll_back().await?;
        Ok(answers)
    };
    let (about, fingerprint, parts) = within(timeout, work).await?;
    Ok(Catalogue::new(
        SqlDialect::PostgreSql,
        about.version,
        about.search_path,
        parts.tables(),
        fingerprint,
    ))
}

/// Reads the fingerprint alone.
pub(super) async fn fingerprint(
    server: &Arc<PostgresServer>,
    timeout: Duration,
) -> Result<String, DatabaseError> {
    let work = async {
        let mut session = open(server, timeout).await?;
        let row = session.client.query_one(statements::FINGERPRINT, &[]).await;
        let text = row.and_then(|row| row.try_get(0));
        let text = text.map_err(|error| failure(&session, &error))?;
        session.roll_back().await?;
        Ok(text)
    };
    within(timeout, work).await
}

async fn open(
    server: &Arc<PostgresServer>,
    timeout: Duration,
) -> Result<PostgresSession, DatabaseError> {
    let mut session = PostgresSession::open(server).await?;
    session.meter.allow(BYTES);
    let timeout = timeout.as_millis().clamp(1, i32::MAX as u128);
    let begin = format!(
        // All queries share one snapshot, because tables, columns and keys must be consistent.
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {timeout}"
    );
    session.run(&begin).await?;
    Ok(session)
}

async fn within<T>(
    timeout: Duration,
    work: impl Future<Output = Result<T, DatabaseError>>,
) -> Result<T, DatabaseError> {
    tokio::time::timeout(timeout, work)
        .await
        .unwrap_or_else(|_| {
            let message = format!("timeout: the catalogue was not read within {timeout:?}");
            Err(DatabaseError::new(Kind::Timeout, message))
        })
}

fn failure(session: &PostgresSession, error: &tokio_postgres::Error) -> DatabaseError {
    if session.meter.is_used_up() {
        let message = format!("the catalogue is larger than {BYTES} bytes");
        return DatabaseError::new(Kind::Limit, message);
    }
    error::of(error)
}

/// Sends all queries at once, so that the server answers one while the next is in transit.
async fn ask_all(
    client: &Client,
    progress: ProgressFn<'_>,
) -> Result<(About, String, CatalogueParts), tokio_postgres::Error> {
    let asking = CatalogueQueries {
        client,
        progress,
        done: AtomicU64::new(0),
    };
    let (about, fingerprint, relations, columns, types, bases, labels, notes, keys, checks) = futures_util::try_join!(
        asking.one("server", statements::SERVER, About::of),
        asking.one("fingerprint", statements::FINGERPRINT, |row| row.try_get(0)),
        asking.all("tables", statements::RELATIONS, RelationRow::of),
        asking.all("columns", statements::COLUMNS, Attribute::of),
        asking.all("types", statements::TYPES, TypeName::of),
        asking.all("domains", statements::BASES, BaseTypeRow::of),
        asking.all("enums", statements::LABELS, Label::of),
        asking.all("comments", statements::NOTES, Note::of),
        asking.all("keys", statements::KEYS, KeyRow::of),
        asking.all("checks", statements::CHECKS, CheckRow::of),
    )?;
    let parts = CatalogueParts {
        relations,
        columns,
        types,
        bases,
        labels,
        notes,
        keys,
        checks,
    };
    Ok((about, fingerprint, parts))
}

/// Pipelined catalogue queries.
struct CatalogueQueries<'a> {
    client: &'a Client,
    progress: ProgressFn<'a>,
    done: AtomicU64,
}

impl CatalogueQueries<'_> {
    /// Returns all rows of a result, parsed as they arrive.
    async fn all<T>(
        &self,
        what: &str,
        statement: &str,
        read: impl Fn(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Vec<T>, tokio_postgres::Error> {
        // Typed queries take one round trip; preparing them would take two.
        let no_parameters: [(&(dyn ToSql + Sync), Type); 0] = [];
        let rows = self
            .client
            .query_typed_raw(statement, no_parameters)
            .await?;
        let mut rows = std::pin::pin!(rows);
        let mut all = Vec::new();
        while let Some(row) = rows.try_next().await? {
            all.push(read(&row)?);
        }
        self.step(what);
        Ok(all)
    }

    /// Returns the single row of a result.
    async fn one<T>(
        &self,
        what: &str,
        statement: &str,
        read: impl Fn(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, tokio_postgres::Error> {
        let row = self.client.query_typed_one(statement, &[]).await?;
        self.step(what);
        read(&row)
    }

    fn step(&self, what: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)(done, STEPS, what);
    }
}
