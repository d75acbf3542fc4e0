//! Queries whose rows go somewhere else than into memory: into a sink, into a file.

use quillet_core::BoxFuture;
use tokio::sync::Mutex;

use super::judges::Gate;
use super::{Databases, Ran, RunOptions};
use crate::chain::{Accepted, Generated, Judge};
use crate::export::Export;
use crate::rows::Truncated;
use crate::stream::{Ended, RowSink, Stop};
use crate::{Cell, ColumnInfo, Rows, SqlError};

/// A query that ran, and whose rows went into a sink.
#[derive(Clone, Debug)]
pub struct Streamed {
    /// The query as it ran, with our LIMIT where it has one.
    pub sql: String,
    /// How many rows the sink was given.
    pub row_count: u64,
    /// Whether these were all.
    pub ended: Ended,
    /// How long the database took, in milliseconds, and whoever took the rows.
    pub execution_ms: u64,
    /// Tables that it read, `schema.table`.
    pub tables: Vec<String>,
}

impl Streamed {
    /// The limit that cut rows off.
    #[must_use]
    pub fn truncated(&self) -> Option<Truncated> {
        self.ended.truncated()
    }

    /// With the rows that it gave.
    pub(super) fn with(self, mut rows: Rows) -> Ran {
        rows.truncated = self.truncated();
        Ran {
            sql: self.sql,
            rows,
            execution_ms: self.execution_ms,
            tables: self.tables,
        }
    }

    /// What is known of a query that ran besides its rows.
    pub(super) fn of(ran: &Ran) -> Self {
        Streamed {
            sql: ran.sql.clone(),
            row_count: ran.rows.rows.len() as u64,
            ended: ran.rows.truncated.map_or(Ended::Whole, Ended::Cut),
            execution_ms: ran.execution_ms,
            tables: ran.tables.clone(),
        }
    }
}

/// A sink, and how many rows it was given.
pub(super) struct Counted<'a> {
    pub(super) sink: &'a mut dyn RowSink,
    pub(super) rows: u64,
}

impl RowSink for Counted<'_> {
    fn columns<'a>(&'a mut self, columns: Vec<ColumnInfo>) -> BoxFuture<'a, Result<(), Stop>> {
        self.sink.columns(columns)
    }

    fn rows<'a>(&'a mut self, rows: Vec<Vec<Cell>>) -> BoxFuture<'a, Result<(), Stop>> {
        self.rows += rows.len() as u64;
        self.sink.rows(rows)
    }
}

impl Databases {
    /// Runs a query that passes the guard, writes its rows in a form while they come, and keeps a
    /// record of it. What was written is a whole file only if this says [`Ended::Whole`] or
    /// [`Ended::Cut`].
    ///
    /// # Errors
    /// As [`Databases::run`], or the form cannot hold a value.
    pub async fn export(
        &self,
        name: &str,
        sql: &str,
        options: &RunOptions,
        mut into: Export<'_>,
    ) -> Result<Streamed, SqlError> {
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
        into: Export<'_>,
    ) -> Result<(Generated, Streamed), SqlError> {
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

async fn finished(ran: Streamed, into: Export<'_>) -> Result<Streamed, SqlError> {
    let ended = into.finish(ran.ended).await?;
    Ok(Streamed { ended, ..ran })
}

/// The guard and the database, the rows into a form. A query whose rows have begun to come is
/// accepted whatever happens then: another one cannot take its place.
struct RunInto<'a, 'b> {
    gate: Gate<'a>,
    into: Mutex<Export<'b>>,
}

impl Judge for RunInto<'_, '_> {
    type Outcome = Result<Streamed, SqlError>;

    fn judge<'a>(
        &'a self,
        sql: &'a str,
    ) -> BoxFuture<'a, Result<Accepted<Self::Outcome>, SqlError>> {
        Box::pin(async move {
            let approved = self.gate.approve(sql).await?;
            let shown = approved.shown.clone();
            let mut into = self.into.lock().await;
            let ran = self.gate.run_into(approved, &mut *into).await;
            match ran {
                Err(error) if !into.has_begun() => Err(error),
                ran => Ok(Accepted {
                    sql: shown,
                    outcome: ran,
                }),
            }
        })
    }
}
