//! Runs that begin with what another one did.

use std::sync::Arc;

use quillet_agent::AgentError;
use quillet_core::journal::{JournalEvent, RunHead, RunSnapshot};
use quillet_core::store::StoreError;
use quillet_core::{ErrorCode, Map, clock};
use serde_json::Value;

use super::resume::{admission, all};
use super::{SCRIPT, admitted};
use crate::agent::{AgentService, Principal, stored};

/// How a fork differs from its run.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// Number of the last step that it has of the other run; all where `None`.
    pub at: Option<u64>,
    /// The model that is asked from there on.
    pub model: Option<String>,
    /// The instructions from there on, as they are sent.
    pub system: Option<String>,
    /// A stored prompt, with a mark or not, that the instructions are rendered from.
    pub prompt: Option<String>,
    /// Id of the new run's request; made where `None`.
    pub request_id: Option<String>,
}

/// The reason why a run is not forked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ForkError {
    /// There is no such run.
    #[error("there is no durable run {0:?}")]
    NoRun(String),
    /// It has no such step.
    #[error("the run has {last} steps, and none of number {at}")]
    NoStep {
        /// What was asked for.
        at: u64,
        /// What there is.
        last: u64,
    },
    /// A script has no instructions to replace.
    #[error("a fork of a script takes another model, and no instructions: its text is its own")]
    Script,
    /// The stored prompt cannot be rendered.
    #[error("{0}")]
    Prompt(AgentError),
    /// The journal does not answer, or there is a run of the new id.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No journal is set up.
    #[error("no journal of runs is set up here: set agent.journal")]
    NoJournal,
}

impl ForkError {
    /// Stable code, which has the status.
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
    /// Begins a run with the first steps of another, which are gone through without asking anybody,
    /// and go on live. Gives the id of its answer.
    ///
    /// # Errors
    /// There is no such run or step, or a run of the new id.
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
        // A copy adds nothing to the conversation of the run that it was copied from.
        admission.request.session = None;
        admission.request.metadata.task_id = None;
        let mut steps: Vec<JournalEvent> = entries.into_iter().map(|entry| entry.step).collect();
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
        // Claimed for no time at all: whoever looks next goes on with it.
        let claim = journal
            .begin(&new, &steps, std::time::Duration::ZERO)
            .await?;
        tracing::debug!(run = &*new_run, epoch = claim.epoch, "a run was forked");
        self.wake.notify_one();
        Ok(who.response_id(&request_id))
    }
}

fn replace(setup: &mut Value, name: &str, with: Option<&String>) {
    if let Some(text) = with {
        setup[name] = Value::String(text.clone());
    }
}
