//! Calls that wait for a person.

use std::sync::Arc;

use quillet_agent::{Approval, Approver, PendingCall, Permissions};
use quillet_core::BoxFuture;
use quillet_core::journal::Decision;
use quillet_core::tool::Idempotency;

use super::run_journal::RunJournal;

/// What the model reads of a call that a person does not want, where they say nothing.
const DENIED: &str = "The call was not made: the person who was asked did not agree.";

/// Lets calls go that nobody has to decide about, or somebody has.
#[derive(Debug)]
pub(in crate::agent) struct ApprovalGate {
    book: Arc<RunJournal>,
    ask: Permissions,
}

impl ApprovalGate {
    pub(in crate::agent) fn new(book: Arc<RunJournal>, ask: Permissions) -> Self {
        ApprovalGate { book, ask }
    }

    /// What is to be done with a call; `asks` says that somebody has to agree whatever the
    /// patterns say.
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
            // It was permitted when it was made.
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
