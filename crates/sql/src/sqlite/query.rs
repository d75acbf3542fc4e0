//! Runs one untrusted query within its limits.

use std::sync::{Arc, Mutex};

use quillet_core::lock::lock;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Connection, Statement};
use tokio::sync::mpsc::Sender;

use super::authorizer::{self, AuthorizerLog};
use super::work_context::WorkContext;
use super::{catalogue, open, values, virtual_tables};
use crate::database::{DatabaseError, DatabaseErrorKind as Kind, QueryLimits};
use crate::rows::{Cell, ColumnInfo};
use crate::stream::{RowBatch, SinkClosed, StreamEnd};

/// Minimum value size, regardless of the limit on all bytes.
const VALUE_LEAST: usize = 1 << 20;
/// Maximum value size. A value is created in one instruction, which cannot be interrupted.
const VALUE_MOST: usize = 64 << 20;
/// Maximum value size if the query calls a function such as `instr`, whose run time is the product
/// of its arguments' sizes. Two values of 8 MB would keep one instruction busy for hours.
const VALUE_SLOW: usize = 200_000;

/// Output of the query thread: the columns come before the first rows.
pub(super) enum QueryChunk {
    Columns(Vec<ColumnInfo>),
    Rows(Vec<Vec<Cell>>),
}

/// Runs one query and sends rows within the limits. Blocks while the receiver is busy.
pub(super) fn run(
    connection: &mut Connection,
    sql: &str,
    limits: &QueryLimits,
    work: &WorkContext,
    out: &Sender<QueryChunk>,
) -> Result<StreamEnd, DatabaseError> {
    // A NUL would hide the rest of the text from SQLite but not from the checks.
    if sql.contains('\0') {
        let message = "the query contains a NUL character, after which SQLite reads nothing";
        return Err(DatabaseError::new(Kind::Syntax, message));
    }
    let failed = |error: rusqlite::Error| work.fault(&error);
    // The schema and virtual tables are loaded before the limits and the authorizer apply, which
    // would otherwise treat these statements as part of the query.
    catalogue::probe(connection).map_err(failed)?;
    virtual_tables::connect(connection, sql).map_err(failed)?;
    // A small limit on all bytes must not prevent SQLite from reading a single stored row.
    let value = limits.bytes.clamp(VALUE_LEAST, VALUE_MOST);
    open::set_limits(connection, value).map_err(failed)?;
    let seen = Arc::new(Mutex::new(AuthorizerLog::default()));
    authorizer::install(connection, &seen).map_err(failed)?;
    let ran = prepare(connection, sql, &seen, work)
        .and_then(|mut statement| read(&mut statement, limits, out).map_err(failed));
    let seen = lock(&seen);
    ran.map_err(|fault| explain(fault, &seen, value))
}

/// Prepares the single statement of a text. `Connection::prepare` would check the following
/// statements recursively, so a text with many would overflow the stack.
fn prepare<'c>(
    connection: &'c Connection,
    sql: &str,
    seen: &Mutex<AuthorizerLog>,
    work: &WorkContext,
) -> Result<Statement<'c>, DatabaseError> {
    let failed = |error: rusqlite::Error| work.fault(&error);
    let mut statements = rusqlite::Batch::new(connection, sql);
    let statement = statements.next().map_err(failed)?;
    let statement =
        statement.ok_or_else(|| query_error(Kind::Syntax, "the text contains no statement"))?;
    // The next statement is only prepared, never run.
    if !matches!(statements.next(), Ok(None)) {
        let message = "more than one statement; write only one";
        return Err(query_error(Kind::Syntax, message));
    }
    if !statement.readonly() || statement.column_count() == 0 {
        let message = "the statement returns no rows or changes data; write a SELECT";
        return Err(query_error(Kind::ReadOnly, message));
    }
    if statement.parameter_count() > 0 {
        let message = "the query has a parameter without a value; write the value itself";
        return Err(query_error(Kind::Syntax, message));
    }
    // The functions are known now, because preparing a statement reports them to the authorizer.
    let slow = lock(seen).slow.is_some();
    if slow {
        open::bound_values(connection, VALUE_SLOW).map_err(failed)?;
    }
    Ok(statement)
}

fn query_error(kind: Kind, message: &str) -> DatabaseError {
    DatabaseError::new(kind, message)
}

/// Adds the authorizer's reason to an error; SQLite itself only reports "not authorized".
fn explain(mut fault: DatabaseError, seen: &AuthorizerLog, value: usize) -> DatabaseError {
    if let (Some(_), Some((kind, message))) = (&fault.native_code, &seen.refused) {
        fault.kind = *kind;
        fault.message.clone_from(message);
    }
    if fault.message == "string or blob too big" {
        fault.message = match seen.slow {
            Some(name) => format!(
                "a value or a row is larger than {VALUE_SLOW} bytes, the limit for queries that call {name}()"
            ),
            None => format!("a value or a row is larger than the limit of {value} bytes"),
        };
    }
    fault
}

/// Steps through the rows until one more than the limit is found.
fn read(
    statement: &mut Statement<'_>,
    limits: &QueryLimits,
    out: &Sender<QueryChunk>,
) -> rusqlite::Result<StreamEnd> {
    let columns = values::columns(statement);
    let width = columns.len();
    let mut out = Out {
        columns: Some(columns),
        out,
    };
    let mut batch = RowBatch::new(limits);
    let mut ended = StreamEnd::Whole;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(limit) = batch.admit(values::row_size(row, width)?) {
            ended = StreamEnd::Cut(limit);
            break;
        }
        if let Some(full) = batch.push(values::row(row, width)?)
            && out.send_rows(full).is_err()
        {
            return Ok(StreamEnd::Stopped);
        }
    }
    Ok(match out.send_rows(batch.take()) {
        Ok(()) => ended,
        Err(SinkClosed) => StreamEnd::Stopped,
    })
}

/// The receiver of rows, and the columns until they are sent with the first rows.
struct Out<'a> {
    columns: Option<Vec<ColumnInfo>>,
    out: &'a Sender<QueryChunk>,
}

impl Out<'_> {
    /// Sends rows. Computed columns get the types of the first batch.
    fn send_rows(&mut self, rows: Vec<Vec<Cell>>) -> Result<(), SinkClosed> {
        if let Some(mut columns) = self.columns.take() {
            values::name_types(&mut columns, &rows);
            self.send(QueryChunk::Columns(columns))?;
        }
        if rows.is_empty() {
            Ok(())
        } else {
            self.send(QueryChunk::Rows(rows))
        }
    }

    fn send(&self, piece: QueryChunk) -> Result<(), SinkClosed> {
        self.out.blocking_send(piece).map_err(|_| SinkClosed)
    }
}
