//! What people decide about calls that wait.

use std::sync::Arc;

use quillet_core::ErrorCode;
use quillet_core::journal::{Decision, Journal, JournalEvent, RunSnapshot, RunState};
use quillet_core::store::StoreError;

use crate::agent::{AgentService, Principal};

/// A decision about a call.
#[derive(Clone, Debug)]
pub struct Deciding {
    /// The call's id; may be missing where one call waits.
    pub call: Option<String>,
    /// What.
    pub decision: Decision,
    /// Who decides, for the journal.
    pub by: String,
}

/// The reason why a decision does not count.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DecideError {
    /// There is no such run, or it is not the asker's.
    #[error("there is no durable run {0:?}")]
    NoRun(String),
    /// Nothing of the run waits.
    #[error("the run {run:?} waits for nobody: it is {state}")]
    NotWaiting {
        /// The run.
        run: String,
        /// How it stands.
        state: &'static str,
    },
    /// No such call waits.
    #[error("the call {call:?} does not wait; these do: {waiting}")]
    NoCall {
        /// The call.
        call: String,
        /// Those that wait.
        waiting: String,
    },
    /// Somebody else was first.
    #[error("somebody else decided about the call {0:?} first")]
    Late(String),
    /// No journal is set up, or it does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No journal is set up.
    #[error("no journal of runs is set up here: set agent.journal")]
    NoJournal,
}

impl DecideError {
    /// Stable code, which has the status.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            DecideError::NoRun(_) => ErrorCode::DurableUnknown,
            DecideError::NotWaiting { .. } | DecideError::NoCall { .. } | DecideError::Late(_) => {
                ErrorCode::DurableNotWaiting
            }
            DecideError::Store(error) => error.kind.code(),
            DecideError::NoJournal => ErrorCode::AgentConfiguration,
        }
    }
}

impl AgentService {
    /// Decides about a call that waits. When all of the turn are decided about, the run goes on at
    /// once, in this process if it has a place. Gives the call's id.
    ///
    /// # Errors
    /// Nothing waits, or somebody else was first.
    pub async fn decide(
        &self,
        who: &Principal,
        id: &str,
        deciding: Deciding,
    ) -> Result<Arc<str>, DecideError> {
        let call = self.note(who, id, deciding).await?;
        self.wake.notify_one();
        Ok(call)
    }

    /// As [`AgentService::decide`], for whoever goes on with the run by itself.
    ///
    /// # Errors
    /// The same.
    pub async fn note(
        &self,
        who: &Principal,
        id: &str,
        deciding: Deciding,
    ) -> Result<Arc<str>, DecideError> {
        let journal = self.parts.journal.clone().ok_or(DecideError::NoJournal)?;
        let run = who.run_id(id);
        let head = journal.head(&run).await?;
        let Some(head) = head else {
            return Err(DecideError::NoRun(id.to_owned()));
        };
        let call = match deciding.call {
            Some(call) => call,
            None => match head.standing.waiting.as_slice() {
                [only] => only.call.to_string(),
                _ => String::new(),
            },
        };
        interject(&*journal, &run, &call, deciding.decision, &deciding.by).await
    }
}

/// Writes a decision, unless somebody else has.
pub(super) async fn interject(
    journal: &dyn Journal,
    run: &str,
    call: &str,
    decision: Decision,
    by: &str,
) -> Result<Arc<str>, DecideError> {
    // Another call of the run may be decided about at the same time, which is no conflict.
    for _ in 0..16 {
        let Some(head) = journal.head(run).await? else {
            return Err(DecideError::NoRun(run.to_owned()));
        };
        let state = head.standing.state;
        let mut waiting = head.standing.waiting;
        if state != RunState::Waiting {
            return Err(DecideError::NotWaiting {
                run: run.to_owned(),
                state: state.as_str(),
            });
        }
        let Some(at) = waiting.iter().position(|waiting| &*waiting.call == call) else {
            let ids: Vec<&str> = waiting.iter().map(|waiting| &*waiting.call).collect();
            return Err(DecideError::NoCall {
                call: call.to_owned(),
                waiting: ids.join(", "),
            });
        };
        let decided = waiting.remove(at);
        let step = JournalEvent::Decided {
            call: decided.call.clone(),
            decision: decision.clone(),
            by: by.into(),
        };
        // Not before all are decided about: the model is asked when it has every result, and a
        // run that went on with the first would be in nobody's reach for the second.
        let standing = RunSnapshot {
            state: if waiting.is_empty() {
                RunState::Ready
            } else {
                RunState::Waiting
            },
            waiting,
        };
        if journal.interject(run, head.last, &step, &standing).await? {
            return Ok(decided.call);
        }
    }
    Err(DecideError::Late(call.to_owned()))
}
