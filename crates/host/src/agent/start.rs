//! Preparation of a run: recording, rendering, and the choice of model and tools.

use std::sync::{Arc, OnceLock};

use quillet_agent::{AgentError, EventStream};
use quillet_core::journal::{self, RunHead};
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::{ErrorCode, clock};
use tokio_util::sync::CancellationToken;

use super::durable::{self, Admission, RunJournal, RunTimeouts, Setup};
use super::prepared::PreparedRun;
use super::script::{self, ScriptRequest, ScriptSetup};
use super::{AgentService, assemble};

/// Prepared run.
pub(super) enum StartedRun {
    Agent(Box<PreparedRun>),
    Script(EventStream),
}

/// Input for starting or resuming a run.
pub(super) struct RunStart {
    pub(super) service: Arc<AgentService>,
    pub(super) admission: Admission,
    pub(super) setup: Option<Setup>,
    pub(super) script: Option<ScriptSetup>,
    pub(super) is_resumed: bool,
    pub(super) stop: CancellationToken,
    pub(super) book: Arc<OnceLock<Arc<RunJournal>>>,
}

impl RunStart {
    /// Prepares the loop. A durable run is recorded before any other work.
    pub(super) async fn prepare(mut self) -> Result<StartedRun, AgentError> {
        match self.admission.request.script.take() {
            Some(script) => Ok(StartedRun::Script(self.prepare_script(script).await?)),
            None => Ok(StartedRun::Agent(Box::new(self.prepare_agent().await?))),
        }
    }

    async fn prepare_script(mut self, request: ScriptRequest) -> Result<EventStream, AgentError> {
        if self.book.get().is_none() {
            // `prepare` took the script out, but the recorded request must contain it.
            self.admission.request.script = Some(request.clone());
            self.open().await?;
        }
        let Some(book) = self.book.get() else {
            return Err(defect());
        };
        let setup = match self.script.take() {
            Some(setup) => setup,
            None => {
                let asked = &self.admission.request.tools.ask;
                let setup = ScriptSetup::new(&request, asked)?;
                let step = journal::JournalEvent::Prepared {
                    setup: setup.written(),
                };
                book.write(step)
                    .await
                    .map_err(|error| journal_error(&error))?;
                setup
            }
        };
        let scripts = self.service.parts.scripts.as_ref();
        if let (Some(lent), Some(scripts)) = (book.as_lent(), scripts) {
            // Each model and tool call has its own timeout. The script as a whole has no timeout,
            // because approvals may take days.
            let longest = scripts.options().time;
            lent.bound(RunTimeouts {
                call_time: longest,
                run_time: longest,
                concurrent_calls: self.service.options.concurrent,
            });
        }
        let begun = script::JournaledRun {
            book: book.clone(),
            is_resumed: self.is_resumed,
            stop: self.stop.clone(),
        };
        script::events(scripts, &request, &setup, begun)
    }

    async fn prepare_agent(self) -> Result<PreparedRun, AgentError> {
        let request = self.admission.request.clone();
        let is_durable = request.features.durable;
        let is_durable = is_durable.unwrap_or(self.service.options.durable);
        if is_durable && self.book.get().is_none() {
            self.open().await?;
        }
        let id = self.admission.who.response_id(&self.admission.request_id);
        let has_setup = self.setup.is_some();
        let stop = self.stop.clone();
        let mut prepared = assemble::prepare(&self.service, request, &id, stop, has_setup).await?;
        if let Some(setup) = self.setup.clone() {
            if let Some(model) = &setup.model {
                assemble::ask_another(&self.service, &mut prepared, model)?;
            }
            setup.apply_to(&mut prepared);
        }
        // A decision may arrive after this process has stopped, so runs that may ask need a
        // journal.
        if !prepared.ask.is_empty() && self.book.get().is_none() {
            self.open().await?;
        }
        let Some(book) = self.book.get() else {
            return Ok(prepared);
        };
        if !has_setup {
            let setup = Setup::of(&prepared);
            let step = journal::JournalEvent::Prepared { setup };
            book.write(step)
                .await
                .map_err(|error| journal_error(&error))?;
        }
        // Bound last, because this wraps the model and the tools chosen above.
        durable::bind(&mut prepared.run, book, &prepared.ask);
        Ok(prepared)
    }

    async fn open(&self) -> Result<(), AgentError> {
        // Checked before any write, because keys must never reach the journal.
        durable::keeps_secret(&self.admission.request)?;
        let Some(journal) = self.service.parts.journal.clone() else {
            let message = "durable runs and approvals need a run journal: set agent.journal";
            return Err(assemble::setup(
                ErrorCode::RunInvalidRequest,
                message.to_owned(),
            ));
        };
        let who = &self.admission.who;
        let run: Arc<str> = who.run_id(&self.admission.request_id).into();
        let model = self.admission.request.model.as_ref();
        let script = self.admission.request.script.as_ref();
        let title = match script {
            Some(script) => script.title(),
            None => model.map_or_else(String::new, |model| model.model_id.clone()),
        };
        let head = RunHead {
            id: run.clone(),
            kind: match script {
                Some(_) => durable::SCRIPT.into(),
                None => durable::AGENT.into(),
            },
            title: title.into(),
            scope: who.scope().into(),
            created_ms: clock::millis(),
            ..RunHead::default()
        };
        let lease = self.service.options.lease;
        let steps = [journal::JournalEvent::Admitted {
            request: durable::admitted(&self.admission),
        }];
        let claim = journal.begin(&head, &steps, lease).await;
        let claim = claim.map_err(|error| journal_error(&error))?;
        let book = RunJournal::open(journal, run, claim, lease, Vec::new(), &self.stop);
        // This future is the only one that opens the journal.
        let _ = self.book.set(book);
        Ok(())
    }
}

fn journal_error(error: &StoreError) -> AgentError {
    let code = match error.kind {
        StoreErrorKind::Conflict => ErrorCode::RunInvalidRequest,
        _ => ErrorCode::RunServerError,
    };
    assemble::setup(code, error.to_string())
}

pub(super) fn defect() -> AgentError {
    AgentError::Setup {
        code: ErrorCode::RunInternalError,
        message: "the run ended without a final event".to_owned(),
    }
}
