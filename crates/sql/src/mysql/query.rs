//! One query, whoever wrote it, on a connection of its own.
//!
//! What stops a query that the guard let through, in this order, each tried on a real server:
//! 1. the first word has to be one that reads ([`super::text`]);
//! 2. the session only reads: `SET SESSION TRANSACTION READ ONLY` and `START TRANSACTION READ ONLY`
//!    together. The transaction alone stops INSERT, UPDATE and DELETE, also inside functions, and
//!    sequences, but not DDL, which ends it first; the session's setting stops that as well;
//! 3. the statement is prepared, which takes one statement, and refused unless it has columns:
//!    `SET GLOBAL`, `INTO OUTFILE`, `FLUSH` and procedures have none;
//! 4. it is rolled back, and the connection with its locks and variables is closed.
//!
//! What remains is reading what the role may read: files (`LOAD_FILE` with FILE), other people's
//! queries (PROCESS), and whatever functions of a definer with more rights do besides writing to
//! tables. Hence the warnings about roles when a connection is put in.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use mysql_async::prelude::Queryable;
use mysql_async::{BinaryProtocol, Conn, Error, Params, QueryResult, Row, Statement};
use tokio::time::timeout;

use super::link::{Server, Session};
use super::values::{Reader, size};
use super::{error, text};
use crate::rows::{Rows, Truncated};
use crate::{DatabaseError, DatabaseErrorKind, QueryLimits};

/// How much later than the server we end a query: it does so more gently.
const GRACE: Duration = Duration::from_millis(500);
/// Bytes of a packet besides its values.
const FRAME: usize = 64 << 10;

/// Runs a query and reads what the limits allow.
pub(super) async fn run(
    server: &Arc<Server>,
    sql: &str,
    limits: &QueryLimits,
) -> Result<Rows, DatabaseError> {
    text::check(sql)?;
    let mut session =
        Session::open(server, limits.bytes.saturating_add(FRAME), limits.timeout).await?;
    let started = Instant::now();
    let reading = read(session.conn(), sql, limits);
    let read = timeout(limits.timeout + GRACE, reading).await;
    // A call of SLEEP or BENCHMARK that the server's time limit ended counts as a success.
    let is_late = started.elapsed() >= limits.timeout;
    match read {
        Ok(Ok((rows, Ended::Whole))) if !is_late => {
            session.finished();
            Ok(rows)
        }
        Ok(Ok((rows, Ended::Early))) if !is_late => {
            session.end().await;
            Ok(rows)
        }
        Ok(Err(error)) if !is_late || error.kind == DatabaseErrorKind::Timeout => {
            session.end().await;
            Err(error)
        }
        _ => {
            session.end().await;
            Err(late(limits))
        }
    }
}

fn late(limits: &QueryLimits) -> DatabaseError {
    DatabaseError::new(
        DatabaseErrorKind::Timeout,
        format!(
            "the query takes longer than {:?} and was ended",
            limits.timeout
        ),
    )
}

/// Whether the server has nothing more to send.
enum Ended {
    Whole,
    Early,
}

async fn read(
    conn: &mut Conn,
    sql: &str,
    limits: &QueryLimits,
) -> Result<(Rows, Ended), DatabaseError> {
    let failed = |error: Error| error::of_query(&error, sql);
    // Where the query sets no limit itself, the server stops by itself.
    let rows = limits.rows.saturating_add(1);
    let select_limit = format!("SET SESSION sql_select_limit = {rows}");
    for statement in [select_limit.as_str(), "START TRANSACTION READ ONLY"] {
        conn.query_drop(statement).await.map_err(failed)?;
    }
    let statement = conn.prep(sql).await.map_err(failed)?;
    refuse_without_columns(&statement)?;
    let result = conn.exec_iter(&statement, Params::Empty).await;
    let mut result = result.map_err(failed)?;
    let (rows, ended) = collect(&mut result, limits).await.map_err(failed)?;
    if matches!(ended, Ended::Whole) {
        drop(result);
        conn.query_drop("ROLLBACK").await.map_err(failed)?;
    }
    Ok((rows, ended))
}

fn refuse_without_columns(statement: &Statement) -> Result<(), DatabaseError> {
    if statement.num_params() > 0 {
        return Err(error::placeholders());
    }
    if statement.num_columns() == 0 {
        return Err(DatabaseError {
            hint: Some("write one SELECT without INTO".to_owned()),
            ..DatabaseError::new(
                DatabaseErrorKind::ReadOnly,
                "the statement gives no rows; only what reads may run",
            )
        });
    }
    Ok(())
}

/// Reads rows up to the limits, and so far beyond as it takes to know that more are there.
async fn collect(
    result: &mut QueryResult<'_, '_, BinaryProtocol>,
    limits: &QueryLimits,
) -> Result<(Rows, Ended), Error> {
    let readers: Vec<Reader> = result.columns_ref().iter().map(Reader::of).collect();
    let mut rows = Rows {
        columns: readers.iter().map(|reader| reader.info.clone()).collect(),
        ..Rows::default()
    };
    let Some(mut stream) = result.stream::<Row>().await? else {
        return Ok((rows, Ended::Early));
    };
    let mut bytes = 0_usize;
    loop {
        let row = match stream.try_next().await {
            Ok(Some(row)) => row,
            Ok(None) => return Ok((rows, Ended::Whole)),
            Err(error) if is_too_large(&error) => {
                rows.truncated = Some(Truncated::Bytes);
                return Ok((rows, Ended::Early));
            }
            Err(error) => return Err(error),
        };
        if rows.rows.len() == limits.rows {
            rows.truncated = Some(Truncated::Rows);
            let is_last = stream.try_next().await?.is_none();
            return Ok((rows, if is_last { Ended::Whole } else { Ended::Early }));
        }
        let values = row.unwrap();
        bytes = bytes.saturating_add(values.iter().map(size).sum());
        if bytes > limits.bytes {
            rows.truncated = Some(Truncated::Bytes);
            return Ok((rows, Ended::Early));
        }
        let cells = readers.iter().zip(values);
        rows.rows
            .push(cells.map(|(reader, value)| reader.cell(value)).collect());
    }
}

/// Whether a row is larger than the packets that the connection takes.
fn is_too_large(error: &Error) -> bool {
    matches!(error, Error::Io(error) if error.to_string().contains("max_allowed_packet"))
}
