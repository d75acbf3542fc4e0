//! Runs whose steps somebody else keeps, such as a workflow of Temporal: that has the steps, says
//! what may be done next, and gets what was done. Here the run goes through the loop with the known
//! steps, as after a takeover, does what it may, and stops before anything else.

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
    /// The first step of a run that somebody else keeps, and the id that it is known by.
    ///
    /// # Errors
    /// The request holds what may not be kept, such as keys.
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
    /// Goes through a run with its steps so far, the first of which is [`JournalEvent::Admitted`], and does
    /// what is permitted. Dropping the future stops the model and the tools.
    ///
    /// # Errors
    /// The steps cannot be gone on with.
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
