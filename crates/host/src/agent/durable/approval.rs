//! Approval of calls in durable runs, including calls that were in flight when a process stopped.

use std::sync::Arc;

use quillet_agent::{Approval, Approver, PendingCall, Permissions};
use quillet_core::BoxFuture;
use quillet_core::journal::Decision;
use quillet_core::tool::Idempotency;

use super::run_journal::RunJournal;

/// Text that the model reads when a call is denied without a reason.
const DENIED: &str = "The call was not made: the person who was asked did not agree.";

/// Approves calls that need no decision, or for which the journal has one.
#[derive(Debug)]
pub(in crate::agent) struct ApprovalGate {
    book: Arc<RunJournal>,
    ask: Permissions,
}

impl ApprovalGate {
    pub(in crate::agent) fn new(book: Arc<RunJournal>, ask: Permissions) -> Self {
        ApprovalGate { book, ask }
    }

    /// Decides about a call; `asks` requires an approval regardless of the patterns.
    pub(in crate::agent) fn decide(&self, call: PendingCall<'_>, asks: bool) -> Approval {
        let known = self.book.call(call.id);
        if known.result.is_some() {
            return Approval::Make;
        }
        match known.decision {
            Some(Decision::Approve {
                arguments: None, ..
            }) => return Approval::Make,
            Some(Decision::Approve {
                arguments: Some(arguments),
                ..
            }) => return Approval::MakeWith(arguments),
            Some(Decision::Deny { note }) => {
                return Approval::Deny(note.unwrap_or_else(|| DENIED.to_owned()));
            }
            Some(Decision::Result { text }) => return Approval::Answer(text),
            None => {}
        }
        match known.made {
            Some(Idempotency::Never) => Approval::Wait { why: "unknown" },
            // The journal contains the call, so it was approved before the process stopped.
            Some(_) => Approval::Make,
            None if asks || self.ask.allows_tool(call.tool) => Approval::Wait { why: "permission" },
            None => Approval::Make,
        }
    }
}

impl Approver for ApprovalGate {
    fn request_approval<'a>(&'a self, call: PendingCall<'a>) -> BoxFuture<'a, Approval> {
        Box::pin(std::future::ready(self.decide(call, false)))
    }
}
