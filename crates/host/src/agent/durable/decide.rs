//! Decisions about pending approvals.

use std::sync::Arc;

use quillet_core::ErrorCode;
use quillet_core::journal::{Decision, Journal, JournalEvent, RunSnapshot, RunState};
use quillet_core::store::StoreError;

use crate::agent::{AgentService, Principal};

/// A decision about a call.
#[derive(Clone, Debug)]
pub struct CallDecision {
    /// Id of the call; optional if exactly one call is pending.
    pub call: Option<String>,
    /// The decision.
    pub decision: Decision,
    /// The person who decides, for the journal.
    pub by: String,
}

/// Error of a decision that is not accepted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DecideError {
    /// The run does not exist, or belongs to another client.
    #[error("unknown durable run {0:?}")]
    NoRun(String),
    /// The run has no pending approvals.
    #[error("run {run:?} has no pending approvals: it is {state}")]
    NotWaiting {
        /// The run.
        run: String,
        /// State of the run.
        state: &'static str,
    },
    /// The call is not pending.
    #[error("call {call:?} is not pending; pending calls: {waiting}")]
    NoCall {
        /// The call.
        call: String,
        /// Pending calls.
        waiting: String,
    },
    /// Another client decided first.
    #[error("call {0:?} was already decided by another client")]
    Late(String),
    /// The journal is not configured, or does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal is not configured.
    #[error("no run journal is configured: set agent.journal")]
    NoJournal,
}

impl DecideError {
    /// Stable code, which determines the status.
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
    /// Decides about a pending call and returns its id. After the last decision of the turn, the
    /// run resumes immediately in this process if a permit is free.
    ///
    /// # Errors
    /// No call is pending, or another client decided first.
    pub async fn decide(
        &self,
        who: &Principal,
        id: &str,
        deciding: CallDecision,
    ) -> Result<Arc<str>, DecideError> {
        let call = self.record_decision(who, id, deciding).await?;
        self.wake.notify_one();
        Ok(call)
    }

    /// Like [`AgentService::decide`], for callers that resume the run themselves.
    ///
    /// # Errors
    /// Like [`AgentService::decide`].
    pub async fn record_decision(
        &self,
        who: &Principal,
        id: &str,
        deciding: CallDecision,
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
                // No call has an empty id, so the error below lists the pending calls.
                _ => String::new(),
            },
        };
        interject(&*journal, &run, &call, deciding.decision, &deciding.by).await
    }
}

/// Writes a decision, unless another client has written one.
pub(super) async fn interject(
    journal: &dyn Journal,
    run: &str,
    call: &str,
    decision: Decision,
    by: &str,
) -> Result<Arc<str>, DecideError> {
    // Another call of the run may have been decided at the same time. This is not a conflict, so
    // the write is retried with the new number.
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
        // The run resumes only after the last decision of the turn. The model needs every result,
        // and a resumed run would reject further decisions.
        let standing = RunSnapshot {
            state: if waiting.is_empty() {
                RunState::Ready
            } else {
                RunState::Waiting
            },
            waiting,
        };
        // Written only if no event was added since `head` was read.
        if journal.interject(run, head.last, &step, &standing).await? {
            return Ok(decided.call);
        }
    }
    Err(DecideError::Late(call.to_owned()))
}
