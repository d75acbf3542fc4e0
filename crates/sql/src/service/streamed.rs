//! Exports: queries whose rows go into a file or another sink.

use quillet_core::BoxFuture;
use tokio::sync::Mutex;

use super::Databases;
use super::judges::Gate;
use super::run::RunOptions;
use super::stream_result::StreamResult;
use crate::SqlError;
use crate::chain::{AcceptedQuery, GeneratedQuery, Judge};
use crate::export::RowExport;

impl Databases {
    /// Checks and runs a query, exports its rows, and records it. The output is complete only if
    /// the result is [`StreamEnd::Whole`] or [`StreamEnd::Cut`].
    ///
    /// # Errors
    /// Fails like [`Databases::run`], or if the format cannot represent a value.
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

    /// Generates and runs a query and exports its rows. Errors from the database are repaired until
    /// the first row is written.
    ///
    /// # Errors
    /// Same as [`Databases::ask`] and [`Databases::export`].
    pub async fn ask_export(
        &self,
        name: &str,
        question: &str,
        options: &RunOptions,
        into: RowExport<'_>,
    ) -> Result<(GeneratedQuery, StreamResult), SqlError> {
        let asking = self.question_context(name, question).await?;
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

/// Checks queries with the guard and by exporting their rows. Once rows were written, the query
/// counts as accepted even if it fails later, because another query cannot continue the same
/// output.
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
            // The judge trait takes `&self`, but the export needs `&mut`. Judges run one after
            // another, so the lock is never contended.
            let mut into = self.into.lock().await;
            let ran = self.gate.run_into(approved, &mut *into).await;
            match ran {
                // Until the first byte is written, the model may repair the query.
                Err(error) if !into.has_begun() => Err(error),
                ran => Ok(AcceptedQuery {
                    sql: shown,
                    outcome: ran,
                }),
            }
        })
    }
}
