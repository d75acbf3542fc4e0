//! Executes recorded queries and compares their rows with those of the reference queries.

use std::collections::BTreeMap;
use std::sync::Arc;

use quillet::settings::Settings;
use quillet_sql::Catalogue;
use quillet_sql::eval::{Accuracy, ExecutionOutcome, Recording, Suite};
use serde::Serialize;

use super::catalogue;
use super::cell::one_line;
use super::session::SqlSession;
use crate::args::Sql;
use crate::failure::CliError;
use crate::progress_bar::ProgressBar;
use crate::terminal;

/// The database that executes the queries.
#[derive(Debug)]
pub(super) struct Runner {
    session: SqlSession,
    catalogue: Arc<Catalogue>,
}

/// Number of recorded queries with the same rows as their reference queries.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct ExecutionReport {
    #[serde(flatten)]
    accuracy: Accuracy,
    /// Questions whose reference query fails here. They are not part of the score.
    unknown: usize,
}

impl Runner {
    /// Opens the database selected by the arguments.
    ///
    /// # Errors
    /// The database cannot be opened, or no query is recorded.
    pub(super) async fn open(
        args: &Sql,
        config: &Settings,
        recording: Option<&Recording>,
    ) -> Result<Self, CliError> {
        let has_queries =
            |recording: &Recording| recording.selections.iter().any(|s| s.sql.is_some());
        if !recording.is_some_and(has_queries) {
            return Err(CliError::Usage(
                "--db needs recorded queries: pass --recorded FILE with {\"selections\": [{\"id\": …, \"sql\": …}]}".into(),
            ));
        }
        let session = SqlSession::open(args, config).await?;
        let catalogue = catalogue::read(&session, false).await?;
        Ok(Runner { session, catalogue })
    }

    /// Returns the catalogue of the database.
    pub(super) fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Executes the recorded queries for the questions of a file. Prints the wrong ones on standard
    /// error.
    ///
    /// # Errors
    /// The file has no reference query for any of the questions.
    pub(super) async fn run(
        &self,
        suite: &Suite,
        recording: &Recording,
    ) -> Result<ExecutionReport, CliError> {
        let recorded = recording.selections.iter();
        let recorded = recorded.filter_map(|s| Some((s.id.as_str(), s.sql.as_deref()?)));
        let recorded: BTreeMap<&str, &str> = recorded.collect();
        let questions = suite.questions.iter();
        let pairs = questions.filter_map(|asked| {
            let query = recorded.get(asked.id.as_str())?;
            Some((asked.id.as_str(), asked.sql.as_deref()?, *query))
        });
        let pairs: Vec<(&str, &str, &str)> = pairs.collect();
        if pairs.is_empty() {
            return Err(CliError::Usage(format!(
                "{}: no question with a reference query (\"sql\") has a recorded query; check that both files have the same questions",
                one_line(&suite.name)
            )));
        }
        let bar = ProgressBar::new();
        let (mut executed, mut remarks) = (ExecutionReport::default(), Vec::new());
        for (done, (id, gold, query)) in pairs.iter().enumerate() {
            bar.set_progress(done as u64, pairs.len() as u64, "queries");
            remarks.extend(self.one(&mut executed, id, gold, query).await);
        }
        drop(bar);
        for remark in remarks {
            terminal::note(&one_line(&remark));
        }
        Ok(executed)
    }

    /// Scores one query, and returns a message if it is wrong.
    async fn one(
        &self,
        executed: &mut ExecutionReport,
        id: &str,
        gold: &str,
        query: &str,
    ) -> Option<String> {
        let SqlSession {
            databases, name, ..
        } = &self.session;
        let outcome = match databases.compare(name, gold, query).await {
            Ok(outcome) => outcome,
            Err(error) => {
                executed.unknown += 1;
                return Some(format!("{id}: the reference query fails: {error}"));
            }
        };
        executed.accuracy.add(&outcome);
        match outcome {
            ExecutionOutcome::Same => None,
            ExecutionOutcome::Different => Some(format!("{id}: different rows")),
            ExecutionOutcome::Failed(error) => Some(format!("{id}: the query fails: {error}")),
        }
    }
}

impl ExecutionReport {
    /// Formats the report on one line.
    pub(super) fn line(&self) -> String {
        let Accuracy {
            same,
            different,
            failed,
        } = self.accuracy;
        let unknown = match self.unknown {
            0 => String::new(),
            many => format!("; {many} reference queries fail and are not counted"),
        };
        format!(
            "  recorded queries: {:.1} % return the rows of the reference query ({same} identical, {different} different, {failed} failed){unknown}",
            100.0 * self.accuracy.share()
        )
    }
}
