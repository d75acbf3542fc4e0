//! Accepted queries, used as examples for later questions.

use quillet_core::ErrorCode;
use quillet_core::archive::{QueryPage, QueryRecord};
use tracing::warn;

use super::judges::Gate;
use super::{Databases, QuestionContext, RunOptions};
use crate::SqlError;
use crate::chain::{Example, similar_records};

impl Databases {
    /// Accepts a recorded query as an example for similar questions.
    ///
    /// # Errors
    /// Fails if the connection or the record does not exist, if the record has no question, or if
    /// the archive is unavailable.
    pub async fn accept(&self, name: &str, id: u64) -> Result<QueryRecord, SqlError> {
        self.definition_text(name).await?;
        let archive = &self.inner.parts.archive;
        let page = archive.history(name, Some(id.saturating_add(1)), 1).await?;
        let found = page.items.into_iter().find(|record| record.id == id);
        let record = found.ok_or_else(|| SqlError::NotFound {
            what: "query",
            name: id.to_string(),
            nearest: None,
        })?;
        if record.question.is_none() {
            return Err(SqlError::Invalid {
                code: ErrorCode::SqlInvalidAccept,
                message: format!(
                    "query {id} has no question: only queries that were run with their \
                     question can be examples"
                ),
            });
        }
        archive.accept(&record).await?;
        Ok(QueryRecord {
            accepted: true,
            ..record
        })
    }

    /// Withdraws the acceptance of a recorded query. Returns `false` if the query was not accepted.
    ///
    /// # Errors
    /// Fails if the connection does not exist or the archive is unavailable.
    pub async fn unaccept(&self, name: &str, id: u64) -> Result<bool, SqlError> {
        self.definition_text(name).await?;
        Ok(self.inner.parts.archive.unaccept(name, id).await?)
    }

    /// Returns all accepted records, newest first.
    ///
    /// # Errors
    /// Same as [`Databases::unaccept`].
    pub async fn accepted(&self, name: &str) -> Result<Vec<QueryRecord>, SqlError> {
        self.definition_text(name).await?;
        Ok(self.inner.parts.archive.accepted(name).await?)
    }

    /// Marks the accepted records of a page.
    pub(super) async fn with_acceptance(
        &self,
        name: &str,
        mut page: QueryPage,
    ) -> Result<QueryPage, SqlError> {
        let accepted = self.inner.parts.archive.accepted(name).await?;
        for record in &mut page.items {
            record.accepted = accepted.iter().any(|other| other.id == record.id);
        }
        Ok(page)
    }

    /// Returns accepted queries of similar questions that still pass the guard. Returns none if the
    /// archive fails.
    pub(super) async fn examples(&self, question: &str, asking: &QuestionContext) -> Vec<Example> {
        let parts = self.inner.parts.as_ref();
        if parts.config.examples == 0 || parts.config.chain == crate::ChainMode::Seed {
            return Vec::new();
        }
        let name = asking.slot.name.as_str();
        let accepted = match parts.archive.accepted(name).await {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(database = %name, %error, "cannot load accepted queries");
                return Vec::new();
            }
        };
        let options = RunOptions::default();
        let gate: Gate<'_> = asking.gate(self, &options);
        let alike = similar_records(question, &accepted).into_iter();
        let passing = alike.filter_map(|record| {
            Some(Example {
                id: record.id,
                question: record.question.clone()?,
                sql: record.sql.clone(),
                tables: gate.tables(&record.sql)?,
            })
        });
        passing.take(parts.config.examples).collect()
    }
}
