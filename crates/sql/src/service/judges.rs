//! The judges of whether a query that a model wrote may be given out: the guard alone, or the guard
//! and then the database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_core::{BoxFuture, ErrorCode};

use super::slot::Slot;
use super::streamed::{Counted, Streamed};
use super::{Parts, Ran, RunOptions};
use crate::chain::{Accepted, Judge, Prepared};
use crate::database::QueryLimits;
use crate::error::Refusal;
use crate::guard::{self, Approved, GuardError, Policy};
use crate::stream::RowSink;
use crate::{Rows, SqlError};

/// A query on its way into one database.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate<'a> {
    pub(super) parts: &'a Parts,
    pub(super) slot: &'a Slot,
    /// The catalogue that names are checked against, where it is at hand.
    pub(super) prepared: Option<&'a Arc<Prepared>>,
    pub(super) options: &'a RunOptions,
}

impl Gate<'_> {
    /// Checks a query; where it names something that is not there, the catalogue is looked
    /// at again first, since the thing may have been made a moment ago.
    pub(super) async fn approve(&self, sql: &str) -> Result<Approved, SqlError> {
        let refused = match self.check(sql, self.prepared) {
            Ok(approved) => return Ok(approved),
            Err(error) => error,
        };
        let is_unknown = matches!(refused.code, ErrorCode::GuardTable | ErrorCode::GuardColumn);
        if let Some(known) = self.prepared.filter(|_| is_unknown) {
            let now = self
                .slot
                .prepared(self.parts, Duration::ZERO, &|_, _, _| {})
                .await?;
            if now.catalogue.fingerprint != known.catalogue.fingerprint {
                return self
                    .check(sql, Some(&now))
                    .map_err(|error| refusal(error, sql));
            }
        }
        Err(refusal(refused, sql))
    }

    /// Whether a query would pass now, and the tables that it reads.
    pub(super) fn tables(&self, sql: &str) -> Option<Vec<String>> {
        let approved = self.check(sql, self.prepared).ok()?;
        Some(approved.tables)
    }

    fn check(&self, sql: &str, prepared: Option<&Arc<Prepared>>) -> Result<Approved, GuardError> {
        let policy = Policy {
            mode: self.options.mode,
            rows: Some(self.limits().rows as u64),
            functions: self.parts.config.functions.clone(),
            ..Policy::default()
        };
        let catalogue = prepared.map(|prepared| prepared.catalogue.as_ref());
        guard::check(sql, self.slot.database.dialect(), catalogue, &policy)
    }

    /// Runs a query that was approved.
    pub(super) async fn run(&self, approved: Approved) -> Result<Ran, SqlError> {
        let mut rows = Rows::default();
        let streamed = self.run_into(approved, &mut rows).await?;
        Ok(streamed.with(rows))
    }

    /// The same, its rows into a sink.
    pub(super) async fn run_into(
        &self,
        approved: Approved,
        sink: &mut dyn RowSink,
    ) -> Result<Streamed, SqlError> {
        let begun = Instant::now();
        let mut counted = Counted { sink, rows: 0 };
        let database = &self.slot.database;
        let ended = database
            .query_into(&approved.sql, self.limits(), &mut counted)
            .await?;
        Ok(Streamed {
            sql: approved.shown,
            row_count: counted.rows,
            ended,
            execution_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            tables: approved.tables,
        })
    }

    fn limits(&self) -> &QueryLimits {
        self.options
            .limits
            .as_ref()
            .unwrap_or(&self.parts.config.limits)
    }
}

fn refusal(error: GuardError, sql: &str) -> SqlError {
    SqlError::Guard(Box::new(Refusal {
        error,
        sql: sql.to_owned(),
    }))
}

/// The guard alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a>(pub(super) Gate<'a>);

impl Judge for Text<'_> {
    type Outcome = ();

    fn judge<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Result<Accepted<()>, SqlError>> {
        Box::pin(async move {
            let approved = self.0.approve(sql).await?;
            Ok(Accepted {
                sql: approved.shown,
                outcome: (),
            })
        })
    }
}

/// The guard and the database.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a>(pub(super) Gate<'a>);

impl Judge for Run<'_> {
    type Outcome = Ran;

    fn judge<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Result<Accepted<Ran>, SqlError>> {
        Box::pin(async move {
            let ran = self.0.run(self.0.approve(sql).await?).await?;
            Ok(Accepted {
                sql: ran.sql.clone(),
                outcome: ran,
            })
        })
    }
}
