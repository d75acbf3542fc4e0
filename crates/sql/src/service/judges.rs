//! Judges of generated queries: the guard alone, or the guard and the database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_core::{BoxFuture, ErrorCode};

use super::parts::ServiceParts;
use super::run::{QueryRun, RunOptions};
use super::slot::ConnectionSlot;
use super::stream_result::{CountingSink, StreamResult};
use crate::chain::{AcceptedQuery, Judge, PreparedCatalogue};
use crate::database::QueryLimits;
use crate::error::RejectedQuery;
use crate::guard::{self, ApprovedQuery, GuardError, Policy};
use crate::stream::RowSink;
use crate::{RowSet, SqlError};

/// Checks of one query before it reaches a database.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate<'a> {
    pub(super) parts: &'a ServiceParts,
    pub(super) slot: &'a ConnectionSlot,
    /// Catalogue for checking names, if one is available.
    pub(super) prepared: Option<&'a Arc<PreparedCatalogue>>,
    pub(super) options: &'a RunOptions,
}

impl Gate<'_> {
    /// Checks a query. If it contains an unknown name, the catalogue's fingerprint is compared
    /// first, because the object may be new.
    pub(super) async fn approve(&self, sql: &str) -> Result<ApprovedQuery, SqlError> {
        let refused = match self.check(sql, self.prepared) {
            Ok(approved) => return Ok(approved),
            Err(error) => error,
        };
        let is_unknown = matches!(refused.code, ErrorCode::GuardTable | ErrorCode::GuardColumn);
        if let Some(known) = self.prepared.filter(|_| is_unknown) {
            let now = self
                .slot
                // An age of zero compares the fingerprint immediately, regardless of the settings.
                .prepared(self.parts, Duration::ZERO, &|_, _, _| {})
                .await?;
            // If the fingerprint is unchanged, a second check would give the same error.
            if now.catalogue.fingerprint != known.catalogue.fingerprint {
                return self
                    .check(sql, Some(&now))
                    .map_err(|error| refusal(error, sql));
            }
        }
        Err(refusal(refused, sql))
    }

    /// Returns the tables that a query reads, if it would pass now.
    pub(super) fn tables(&self, sql: &str) -> Option<Vec<String>> {
        let approved = self.check(sql, self.prepared).ok()?;
        Some(approved.tables)
    }

    fn check(
        &self,
        sql: &str,
        prepared: Option<&Arc<PreparedCatalogue>>,
    ) -> Result<ApprovedQuery, GuardError> {
        let policy = Policy {
            mode: self.options.mode,
            rows: Some(self.limits().rows as u64),
            functions: self.parts.config.functions.clone(),
            ..Policy::default()
        };
        let catalogue = prepared.map(|prepared| prepared.catalogue.as_ref());
        guard::check(sql, self.slot.database.dialect(), catalogue, &policy)
    }

    /// Runs an approved query.
    pub(super) async fn run(&self, approved: ApprovedQuery) -> Result<QueryRun, SqlError> {
        let mut rows = RowSet::default();
        let streamed = self.run_into(approved, &mut rows).await?;
        Ok(streamed.into_query_run(rows))
    }

    /// Runs an approved query and streams its rows into a sink.
    pub(super) async fn run_into(
        &self,
        approved: ApprovedQuery,
        sink: &mut dyn RowSink,
    ) -> Result<StreamResult, SqlError> {
        let begun = Instant::now();
        let mut counted = CountingSink { sink, rows: 0 };
        let database = &self.slot.database;
        let ended = database
            .query_into(&approved.sql, self.limits(), &mut counted)
            .await?;
        Ok(StreamResult {
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
    SqlError::Guard(Box::new(RejectedQuery {
        error,
        sql: sql.to_owned(),
    }))
}

/// Checks queries with the guard only.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardJudge<'a>(pub(super) Gate<'a>);

impl Judge for GuardJudge<'_> {
    type Outcome = ();

    fn judge<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Result<AcceptedQuery<()>, SqlError>> {
        Box::pin(async move {
            let approved = self.0.approve(sql).await?;
            Ok(AcceptedQuery {
                sql: approved.shown,
                outcome: (),
            })
        })
    }
}

/// Checks queries with the guard and by running them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExecutionJudge<'a>(pub(super) Gate<'a>);

impl Judge for ExecutionJudge<'_> {
    type Outcome = QueryRun;

    fn judge<'a>(
        &'a self,
        sql: &'a str,
    ) -> BoxFuture<'a, Result<AcceptedQuery<QueryRun>, SqlError>> {
        Box::pin(async move {
            let ran = self.0.run(self.0.approve(sql).await?).await?;
            Ok(AcceptedQuery {
                sql: ran.sql.clone(),
                outcome: ran,
            })
        })
    }
}
