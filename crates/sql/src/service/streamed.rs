//! Queries whose rows go somewhere else than into memory: into a sink, into a file.

use quillet_core::BoxFuture;
use tokio::sync::Mutex;

use super::judges::Gate;
use super::{Databases, QueryRun, RunOptions};
use crate::chain::{AcceptedQuery, GeneratedQuery, Judge};
use crate::export::RowExport;
use crate::rows::TruncationReason;
use crate::stream::{RowSink, SinkClosed, StreamEnd};
use crate::{Cell, ColumnInfo, RowSet, SqlError};

/// A query that ran, and whose rows went into a sink.
#[derive(Clone, Debug)]
pub struct StreamResult {
    /// The query as it ran, with our LIMIT where it has one.
    pub sql: String,
    /// How many rows the sink was given.
    pub row_count: u64,
    /// Whether these were all.
    pub ended: StreamEnd,
    /// How long the database took, in milliseconds, and whoever took the rows.
    pub execution_ms: u64,
    /// Tables that it read, `schema.table`.
    pub tables: Vec<String>,
}

impl StreamResult {
    /// The limit that cut rows off.
    #[must_use]
    pub fn truncated(&self) -> Option<TruncationReason> {
        self.ended.truncated()
    }

    /// With the rows that it gave.
    pub(super) fn with(self, mut rows: RowSet) -> QueryRun {
        rows.truncated = self.truncated();
        QueryRun {
            sql: self.sql,
            rows,
            execution_ms: self.execution_ms,
            tables: self.tables,
        }
    }

    /// What is known of a query that ran besides its rows.
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

/// A sink, and how many rows it was given.
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

impl Databases {
    /// Runs a query that passes the guard, writes its rows in a form while they come, and keeps a
    /// record of it. What was written is a whole file only if this says [`StreamEnd::Whole`] or
    /// [`StreamEnd::Cut`].
    ///
    /// # Errors
    /// As [`Databases::run`], or the form cannot hold a value.
    pub async fn export(
        &self,
        name: &str,
        sql: &str,
        options: &RunOptions,
        mut into: RowExport<'_>,
    ) -> Result<StreamResult, SqlError> {
        let ran = self.run_into(name, sql, options, &mut into).await?;
        finished(ran, into).await
    }

    /// Writes a query, runs it, and writes its rows in a form while they come; an error of the
    /// database goes back to the model as long as no row has come.
    ///
    /// # Errors
    /// As [`Databases::ask`] and [`Databases::export`].
    pub async fn ask_export(
        &self,
        name: &str,
        question: &str,
        options: &RunOptions,
        into: RowExport<'_>,
    ) -> Result<(GeneratedQuery, StreamResult), SqlError> {
        let asking = self.asking(name, question).await?;
        let judge = RunInto {
            gate: asking.gate(self, options),
            into: Mutex::new(into),
        };
        let chain = asking.chain(&self.inner.parts, options)?;
        let (generated, ran) = chain.run(question, &judge).await?;
        let ran = ran?;
        let options = RunOptions {
            question: Some(question.to_owned()),
            ..options.clone()
        };
        self.record(name, &ran, &options).await;
        let ran = finished(ran, judge.into.into_inner()).await?;
        Ok((generated, ran))
    }
}

async fn finished(ran: StreamResult, into: RowExport<'_>) -> Result<StreamResult, SqlError> {
    let ended = into.finish(ran.ended).await?;
    Ok(StreamResult { ended, ..ran })
}

/// The guard and the database, the rows into a form. A query whose rows have begun to come is
/// accepted whatever happens then: another one cannot take its place.
struct RunInto<'a, 'b> {
    gate: Gate<'a>,
    into: Mutex<RowExport<'b>>,
}

impl Judge for RunInto<'_, '_> {
    type Outcome = Result<StreamResult, SqlError>;

    fn judge<'a>(
        &'a self,
        sql: &'a str,
    ) -> BoxFuture<'a, Result<AcceptedQuery<Self::Outcome>, SqlError>> {
        Box::pin(async move {
            let approved = self.gate.approve(sql).await?;
            let shown = approved.shown.clone();
            let mut into = self.into.lock().await;
            let ran = self.gate.run_into(approved, &mut *into).await;
            match ran {
                Err(error) if !into.has_begun() => Err(error),
                ran => Ok(AcceptedQuery {
                    sql: shown,
                    outcome: ran,
                }),
            }
        })
    }
}
