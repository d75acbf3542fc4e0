//! Forks of durable runs: new runs that start with the events of another run.

use std::sync::Arc;

use quillet_agent::AgentError;
use quillet_core::journal::{JournalEvent, RunHead, RunSnapshot};
use quillet_core::store::StoreError;
use quillet_core::{ErrorCode, Map, clock};
use serde_json::Value;

use super::resume::{admission, all};
use super::{SCRIPT, admitted};
use crate::agent::{AgentService, Principal, stored};

/// Options of a fork.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// Number of the last event to copy; all if `None`.
    pub at: Option<u64>,
    /// Model that answers after the copied events.
    pub model: Option<String>,
    /// Instructions after the copied events, exactly as sent.
    pub system: Option<String>,
    /// Stored prompt for the instructions, optionally with a version selector.
    pub prompt: Option<String>,
    /// Id of the new run's request; generated if `None`.
    pub request_id: Option<String>,
}

/// Error of a rejected fork.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ForkError {
    /// The run does not exist.
    #[error("unknown durable run {0:?}")]
    NoRun(String),
    /// The run has no such event.
    #[error("unknown step {at}: the run has {last} steps")]
    NoStep {
        /// The requested number.
        at: u64,
        /// The number of events.
        last: u64,
    },
    /// A script has no instructions to replace.
    #[error("a fork of a script cannot change instructions: only the model can be changed")]
    Script,
    /// The stored prompt cannot be rendered.
    #[error("{0}")]
    Prompt(AgentError),
    /// The journal does not answer, or a run with the new id exists.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No journal is configured.
    #[error("no run journal is configured: set agent.journal")]
    NoJournal,
}

impl ForkError {
    /// Stable code, which determines the status.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            ForkError::NoRun(_) => ErrorCode::DurableUnknown,
            ForkError::NoStep { .. } => ErrorCode::DurableStep,
            ForkError::Script => ErrorCode::InvalidValue,
            ForkError::Prompt(error) => error.root_code(),
            ForkError::Store(error) => error.kind.code(),
            ForkError::NoJournal => ErrorCode::AgentConfiguration,
        }
    }
}

impl AgentService {
    /// Creates a run from the first events of another run, replays them without new calls, and then
    /// continues with new calls. Returns the id of the new answer.
    ///
    /// # Errors
    /// The run or the event does not exist, or a run with the new id exists.
    pub async fn fork(&self, who: &Principal, id: &str, fork: Fork) -> Result<String, ForkError> {
        let journal = self.parts.journal.clone().ok_or(ForkError::NoJournal)?;
        let run = who.run_id(id);
        let Some(head) = journal.head(&run).await? else {
            return Err(ForkError::NoRun(id.to_owned()));
        };
        if &*head.kind == SCRIPT && (fork.system.is_some() || fork.prompt.is_some()) {
            return Err(ForkError::Script);
        }
        let at = fork.at.unwrap_or(head.last);
        if at == 0 || at > head.last {
            let last = head.last;
            return Err(ForkError::NoStep { at, last });
        }
        let entries = all(&*journal, &run, Some(at)).await?;
        let mut admission = admission(&run, entries.first().map(|entry| &entry.step))?;
        let request_id = fork
            .request_id
            .unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
        admission.request_id.clone_from(&request_id);
        // A fork has no session: its answers must not be added to the conversation of the original.
        admission.request.session = None;
        admission.request.metadata.task_id = None;
        let mut steps: Vec<JournalEvent> = entries.into_iter().map(|entry| entry.step).collect();
        // Without an end event, the copy counts as unfinished and can be resumed. Takeovers concern
        // the original run only.
        steps.retain(|step| {
            !matches!(
                step,
                JournalEvent::Ended { .. } | JournalEvent::TakenOver { .. }
            )
        });
        if let Some(first) = steps.first_mut() {
            *first = JournalEvent::Admitted {
                request: admitted(&admission),
            };
        }
        let system = match &fork.prompt {
            None => fork.system,
            Some(prompt) => {
                let variables = Map::default();
                let rendered = stored::rendered(self, prompt, &variables, &request_id, None).await;
                Some(rendered.map_err(ForkError::Prompt)?.0)
            }
        };
        for step in &mut steps {
            if let JournalEvent::Prepared { setup } = step {
                replace(setup, "system", system.as_ref());
                replace(setup, "model", fork.model.as_ref());
            }
        }
        let new_run: Arc<str> = who.run_id(&request_id).into();
        let new = RunHead {
            id: new_run.clone(),
            forked: Some((head.id, at)),
            created_ms: clock::millis(),
            standing: RunSnapshot::default(),
            ..head
        };
        // A lease of zero length lets the next poll for abandoned runs resume it immediately.
        let claim = journal
            .begin(&new, &steps, std::time::Duration::ZERO)
            .await?;
        tracing::debug!(run = &*new_run, epoch = claim.epoch, "run forked");
        self.wake.notify_one();
        Ok(who.response_id(&request_id))
    }
}

fn replace(setup: &mut Value, name: &str, with: Option<&String>) {
    if let Some(text) = with {
        setup[name] = Value::String(text.clone());
    }
}
