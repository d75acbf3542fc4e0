//! Queries about durable runs.

use quillet_core::journal::{JournalEntry, RunFilter, RunHead};

use super::{DecideError, is_ours};
use crate::agent::{AgentService, Principal};

impl AgentService {
    /// Lists durable runs, the latest first.
    ///
    /// # Errors
    /// No journal is configured, or it does not answer.
    pub async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunHead>, DecideError> {
        let journal = self.parts.journal.clone().ok_or(DecideError::NoJournal)?;
        let mut heads = journal.list(filter).await?;
        heads.retain(|head| is_ours(&head.kind));
        Ok(heads)
    }

    /// Returns a run and its first events, by the id of its request or of its answer.
    ///
    /// # Errors
    /// The run does not exist, or belongs to another client.
    pub async fn run(
        &self,
        who: &Principal,
        id: &str,
        most: usize,
    ) -> Result<(RunHead, Vec<JournalEntry>), DecideError> {
        let journal = self.parts.journal.clone().ok_or(DecideError::NoJournal)?;
        let run = who.run_id(id);
        let head = journal.head(&run).await?;
        let head = head.ok_or_else(|| DecideError::NoRun(id.to_owned()))?;
        let entries = journal.read(&run, 0, most).await?;
        Ok((head, entries))
    }

    /// Deletes a run that has ended.
    ///
    /// # Errors
    /// The run does not exist, or has not ended.
    pub async fn forget(&self, who: &Principal, id: &str) -> Result<(), DecideError> {
        let journal = self.parts.journal.clone().ok_or(DecideError::NoJournal)?;
        if journal.remove(&who.run_id(id)).await? {
            Ok(())
        } else {
            Err(DecideError::NoRun(id.to_owned()))
        }
    }
}
