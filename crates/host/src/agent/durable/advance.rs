//! Runs with an external journal, such as a Temporal workflow. The owner of the journal has the
//! events, permits the next activity and receives the new events. A call here replays the run from
//! the known events, performs the permitted activity and stops before anything else.

use std::sync::Arc;

use quillet_agent::AgentError;
use quillet_core::journal::JournalEvent;
use quillet_core::store::StoreError;
use tokio_util::sync::CancellationToken;

use super::external_journal::{AdvanceMode, ExternalJournal, RunProgress};
use super::resume::{admission, prepared};
use super::{Admission, RunJournal, admitted, keeps_secret};
use crate::agent::running::{PriorUsage, ResumedRun};
use crate::agent::{AgentRequest, AgentService, Principal, RunHandle};

impl Admission {
    /// Returns the first event of an externally journaled run, and the run's id.
    ///
    /// # Errors
    /// The request contains data that must not be stored, such as keys.
    pub fn admit(
        who: &Principal,
        request_id: &str,
        request: AgentRequest,
    ) -> Result<(String, JournalEvent), AgentError> {
        keeps_secret(&request)?;
        let admission = Admission {
            who: who.clone(),
            request_id: request_id.to_owned(),
            request,
        };
        let request = admitted(&admission);
        Ok((who.run_id(request_id), JournalEvent::Admitted { request }))
    }
}

impl AgentService {
    /// Replays a run from its events, the first of which is [`JournalEvent::Admitted`], and
    /// performs the permitted activity. Dropping the future stops the model and the tools.
    ///
    /// # Errors
    /// The run cannot be resumed from these events.
    pub async fn advance(
        self: &Arc<Self>,
        run: &str,
        steps: Vec<JournalEvent>,
        permit: AdvanceMode,
    ) -> Result<RunProgress, StoreError> {
        let admission = admission(run, steps.first())?;
        let setup = prepared(steps.iter());
        let script = prepared(steps.iter());
        let is_known = steps
            .iter()
            .any(|step| matches!(step, JournalEvent::Prepared { .. }));
        let lent = Arc::new(ExternalJournal::new(permit));
        let book = RunJournal::from_external(steps, lent.clone());
        let resumed = ResumedRun {
            book: book.clone(),
            is_known,
            setup,
            script,
            before: PriorUsage::default(),
            epoch: 1,
        };
        let stop = CancellationToken::new();
        let mut running = RunHandle::resumed(self.clone(), admission, resumed, stop, None);
        while running.next().await.is_some() {}
        book.flush();
        Ok(lent.advanced())
    }
}
