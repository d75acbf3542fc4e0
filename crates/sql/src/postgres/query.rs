//! Runs one untrusted query: describes it first, runs it in a transaction that is rolled back, and
//! reads rows up to the limits.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Column, Statement};

use super::error;
use super::judge::{SessionRole, judge};
use super::query_text::with_text_casts;
use super::server::PostgresServer;
use super::session::PostgresSession;
use super::value::{self, ValueDecoder};
use crate::guard::lexer;
use crate::rows::{ColumnInfo, TruncationReason};
use crate::stream::{Feed, RowSink, SinkClosed, StreamEnd};
use crate::{DatabaseError, DatabaseErrorKind as Kind, QueryLimits, SqlDialect};

/// Bytes on the wire beyond a query's own limit, for descriptions, notices and read-ahead. A row
/// that exceeds this is cut off below the library.
const SLACK: u64 = 256 << 10;

/// Maximum time that a query waits for a lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs an untrusted query.
pub(super) async fn run(
    server: &Arc<PostgresServer>,
    sql: &str,
    limits: &QueryLimits,
    sink: &mut dyn RowSink,
) -> Result<StreamEnd, DatabaseError> {
    let mut session = PostgresSession::open(server).await?;
    let work = work(&mut session, sql, limits, sink);
    let Ok(result) = tokio::time::timeout(limits.timeout, work).await else {
        // The server has the same limit but may not check it in time, for example while it sends
        // rows to a full socket.
        session.cancel().await;
        let message = format!("timeout: the query took longer than {:?}", limits.timeout);
        return Err(DatabaseError::new(Kind::Timeout, message));
    };
    result
}

async fn work(
    session: &mut PostgresSession,
    sql: &str,
    limits: &QueryLimits,
    sink: &mut dyn RowSink,
) -> Result<StreamEnd, DatabaseError> {
    let read = check_and_read(session, sql, limits, sink).await;
    match &read {
        // More rows would follow. Dropping the session cancels the query and undoes everything.
        Ok(StreamEnd::Cut(_) | StreamEnd::Stopped) => {}
        Err(error) if error.kind == Kind::Unreachable => {}
        _ => session.roll_back().await?,
    }
    read
}

/// Checks the query, and runs it in a new transaction.
async fn check_and_read(
    session: &mut PostgresSession,
    sql: &str,
    limits: &QueryLimits,
    sink: &mut dyn RowSink,
) -> Result<StreamEnd, DatabaseError> {
    let begin = begin(limits.timeout);
    let reading = format!("BEGIN READ ONLY; {begin}");
    let prepared = approve(session, sql, &begin).await?;
    // The rollback removes the temporary view of the check. The same round trip starts the
    // read-only transaction.
    session.run(&format!("ROLLBACK; {reading}")).await?;
    read(session, sql, prepared, limits, sink).await
}

/// Prepares and checks a query without running it. The session is in a transaction afterwards.
pub(super) async fn approve(
    session: &mut PostgresSession,
    sql: &str,
    begin: &str,
) -> Result<PreparedQuery, DatabaseError> {
    session.run(&format!("BEGIN READ ONLY; {begin}")).await?;
    let client = &*session;
    // Both requests are pipelined, so they take one round trip.
    let (asker, prepared) =
        tokio::join!(SessionRole::of(client), prepare(client, sql.to_owned(), 0));
    let prepared = prepared?;
    reject_without_columns(sql, &prepared.statement)?;
    let (asker, allowed) = (asker?, session.server().allowed.clone());
    asker.check(&allowed)?;
    let writing = format!("BEGIN READ WRITE; {begin}");
    // The final text is checked, because a cast added by the driver could be user-defined.
    let columns = prepared.statement.columns();
    let readings: Vec<ValueDecoder> = columns
        .iter()
        .map(|c| ValueDecoder::of(c.type_()))
        .collect();
    let (runs, start) = if readings.iter().any(|reading| reading.cast().is_some()) {
        with_text_casts(sql, &readings)
    } else {
        (sql.to_owned(), 0)
    };
    let judged = judge(session, &asker, &allowed, &runs, &writing).await;
    judged.map_err(|error| DatabaseError {
        position: error.position.and_then(|at| at.checked_sub(start)),
        ..error
    })?;
    Ok(prepared)
}

/// Returns the statement that starts a transaction. The server enforces the same time limit, so the
/// query ends even if the client cannot cancel it. String literals follow the rules that the guard
/// assumes, regardless of the role's settings.
pub(super) fn begin(timeout: Duration) -> String {
    let milliseconds = |time: Duration| time.as_millis().clamp(1, i32::MAX as u128);
    let (whole, lock) = (
        milliseconds(timeout),
        milliseconds(timeout.min(LOCK_TIMEOUT)),
    );
    format!(
        "SET LOCAL statement_timeout = {whole}; \
         SET LOCAL idle_in_transaction_session_timeout = {whole}; SET LOCAL lock_timeout = {lock}; \
         SET LOCAL standard_conforming_strings = on"
    )
}

/// A prepared text, and the position of the caller's query in it.
pub(super) struct PreparedQuery {
    statement: Statement,
    text: String,
    start: usize,
}

async fn read(
    session: &PostgresSession,
    sql: &str,
    mut prepared: PreparedQuery,
    limits: &QueryLimits,
    sink: &mut dyn RowSink,
) -> Result<StreamEnd, DatabaseError> {
    let described = prepared.statement.columns();
    let readings: Vec<ValueDecoder> = described
        .iter()
        .map(|c| ValueDecoder::of(c.type_()))
        .collect();
    // This needs a second round trip, because the library knows only the names of built-in types.
    let names = type_names(session, &prepared.statement).await?;
    let column = |((column, reading), data_type): ((&Column, &ValueDecoder), String)| ColumnInfo {
        name: column.name().to_owned(),
        data_type,
        value_type: reading.value_type(),
    };
    let columns = described.iter().zip(&readings).zip(names).map(column);
    let columns: Vec<ColumnInfo> = columns.collect();
    if readings.iter().any(|reading| reading.cast().is_some()) {
        let (text, start) = with_text_casts(sql, &readings);
        prepared = prepare(session, text, start).await?;
    }
    let mut feed = Feed::new(sink, columns, limits);
    stream_rows(session, &prepared, &readings, limits, &mut feed).await
}

/// Prepares a text without running it.
async fn prepare(
    session: &PostgresSession,
    text: String,
    start: usize,
) -> Result<PreparedQuery, DatabaseError> {
    let statement = session.client.prepare(&text).await;
    let statement = statement.map_err(|error| error::of_query(&error, &text, start))?;
    Ok(PreparedQuery {
        statement,
        text,
        start,
    })
}

fn reject_without_columns(sql: &str, statement: &Statement) -> Result<(), DatabaseError> {
    if !statement.params().is_empty() {
        let message = "the query has a parameter ($1) without a value; write the value itself";
        let mut error = DatabaseError::new(Kind::Syntax, message);
        let tokens = lexer::tokens(sql, SqlDialect::PostgreSql);
        let parameter = tokens.iter().find(|t| t.kind == lexer::Kind::Parameter);
        error.position = parameter.map(|token| token.span.start);
        return Err(error);
    }
    if statement.columns().is_empty() {
        let message = "the statement returns no rows; only queries that return rows may run";
        return Err(DatabaseError::new(Kind::ReadOnly, message));
    }
    Ok(())
}

/// Returns the column types in the server's notation.
async fn type_names(
    session: &PostgresSession,
    statement: &Statement,
) -> Result<Vec<String>, DatabaseError> {
    const NAMES: &str = "SELECT pg_catalog.format_type(t.id, t.modifier) \
        FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.oid[]), \
        pg_catalog.unnest($2::pg_catalog.int4[])) AS t(id, modifier)";
    let columns = statement.columns();
    let types: Vec<u32> = columns.iter().map(|column| column.type_().oid()).collect();
    let modifiers: Vec<i32> = columns
        .iter()
        .map(|column| column.type_modifier())
        .collect();
    let parameters: [(&(dyn ToSql + Sync), Type); 2] =
        [(&types, Type::OID_ARRAY), (&modifiers, Type::INT4_ARRAY)];
    let rows = session.client.query_typed(NAMES, &parameters).await;
    let rows = rows.map_err(|error| error::of(&error))?;
    let names: Result<_, _> = rows.iter().map(|row| row.try_get(0)).collect();
    names.map_err(|error| error::of(&error))
}

/// Runs a statement and passes its rows on up to the limits. The request has no row count, which
/// would prevent parallel plans. When reading stops, the server blocks on its socket and is then
/// cancelled.
async fn stream_rows(
    session: &PostgresSession,
    prepared: &PreparedQuery,
    readings: &[ValueDecoder],
    limits: &QueryLimits,
    feed: &mut Feed<'_>,
) -> Result<StreamEnd, DatabaseError> {
    let wire = u64::try_from(limits.bytes).unwrap_or(u64::MAX);
    session.meter.allow(wire.saturating_add(SLACK));
    let failed = |error| error::of_query(&error, &prepared.text, prepared.start);
    let no_parameters: [&(dyn ToSql + Sync); 0] = [];
    let stream = session.client.query_raw(&prepared.statement, no_parameters);
    let mut stream = std::pin::pin!(stream.await.map_err(failed)?);
    let ended = loop {
        let row = match stream.as_mut().try_next().await {
            Ok(Some(row)) => row,
            Ok(None) => break StreamEnd::Whole,
            // The quota cut the socket, which the library reports as a broken connection.
            Err(_) if session.meter.is_used_up() => break StreamEnd::Cut(TruncationReason::Bytes),
            Err(error) => return Err(failed(error)),
        };
        if let Some(limit) = feed.admit(row.raw_size_bytes()) {
            break StreamEnd::Cut(limit);
        }
        if let Err(SinkClosed) = feed.push(value::row(&row, readings)?).await {
            return Ok(StreamEnd::Stopped);
        }
    };
    Ok(feed.finish(ended).await)
}
