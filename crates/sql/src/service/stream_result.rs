//! Result of a query whose rows were streamed, and the sink that counts them.

use quillet_core::BoxFuture;

use super::run::QueryRun;
use crate::rows::TruncationReason;
use crate::stream::{RowSink, SinkClosed, StreamEnd};
use crate::{Cell, ColumnInfo, RowSet};

/// Result of a query whose rows were streamed into a sink.
#[derive(Clone, Debug)]
pub struct StreamResult {
    /// The query that ran, including an added LIMIT.
    pub sql: String,
    /// Number of rows that the sink received.
    pub row_count: u64,
    /// How the stream ended.
    pub ended: StreamEnd,
    /// Execution time in milliseconds, including the time that the sink needed.
    pub execution_ms: u64,
    /// Tables that the query read, as `schema.table`.
    pub tables: Vec<String>,
}

impl StreamResult {
    /// Returns the limit because of which rows are missing, if any.
    #[must_use]
    pub fn truncated(&self) -> Option<TruncationReason> {
        self.ended.truncated()
    }

    /// Combines the result with collected rows.
    pub(super) fn into_query_run(self, mut rows: RowSet) -> QueryRun {
        rows.truncated = self.truncated();
        QueryRun {
            sql: self.sql,
            rows,
            execution_ms: self.execution_ms,
            tables: self.tables,
        }
    }

    /// Returns the result without the rows.
    pub(super) fn of(ran: &QueryRun) -> Self {
        StreamResult {
            sql: ran.sql.clone(),
            row_count: ran.rows.rows.len() as u64,
            ended: ran.rows.truncated.map_or(StreamEnd::Whole, StreamEnd::Cut),
            execution_ms: ran.execution_ms,
            tables: ran.tables.clone(),
        }
    }
}

/// Wraps a sink and counts its rows.
pub(super) struct CountingSink<'a> {
    pub(super) sink: &'a mut dyn RowSink,
    pub(super) rows: u64,
}

impl RowSink for CountingSink<'_> {
    fn columns<'a>(
        &'a mut self,
        columns: Vec<ColumnInfo>,
    ) -> BoxFuture<'a, Result<(), SinkClosed>> {
        self.sink.columns(columns)
    }

    fn rows<'a>(&'a mut self, rows: Vec<Vec<Cell>>) -> BoxFuture<'a, Result<(), SinkClosed>> {
        self.rows += rows.len() as u64;
        self.sink.rows(rows)
    }
}
