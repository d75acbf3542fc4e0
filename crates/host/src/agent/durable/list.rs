//! What is known of durable runs.

use quillet_core::journal::{JournalEntry, RunFilter, RunHead};

use super::{DecideError, is_ours};
use crate::agent::{AgentService, Principal};

impl AgentService {
    /// Durable runs, the latest first.
    ///
    /// # Errors
    /// No journal is set up, or it does not answer.
    pub async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunHead>, DecideError> {
        let journal = self.parts.journal.clone().ok_or(DecideError::NoJournal)?;
        let mut heads = journal.list(filter).await?;
        heads.retain(|head| is_ours(&head.kind));
        Ok(heads)
    }

    /// A run and at most so many of its steps, by the id of its request or of its answer.
    ///
    /// # Errors
    /// There is no such run, or it is somebody else's.
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

    /// Forgets a run that has ended.
    ///
    /// # Errors
    /// There is no such run, or it has not ended.
    pub async fn forget(&self, who: &Principal, id: &str) -> Result<(), DecideError> {
        let journal = self.parts.journal.clone().ok_or(DecideError::NoJournal)?;
        if journal.remove(&who.run_id(id)).await? {
            Ok(())
        } else {
            Err(DecideError::NoRun(id.to_owned()))
        }
    }
}
