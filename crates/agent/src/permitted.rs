//! Asking somebody about a call before it is made.

use crate::AgentEvent;
use crate::approval::{Approval, PendingCall};
use crate::failure::Failure;
use crate::judge::{Plan, Planned};
use crate::scope::Scope;

/// A call after somebody was asked.
pub(crate) enum Permitted {
    /// It is done as planned.
    Go(Planned),
    /// It waits; this says so.
    Waits(AgentEvent),
}

/// Asks about a call of a tool; everything else harms nobody.
pub(crate) async fn ask(scope: &Scope, mut planned: Planned) -> Permitted {
    let (Some(approver), Plan::Make(tool)) = (&scope.approver, &planned.plan) else {
        return Permitted::Go(planned);
    };
    let call = PendingCall {
        id: &planned.call.id,
        tool: tool.spec(),
        arguments: &planned.input,
    };
    match approver.ask(call).await {
        Approval::Make => {}
        Approval::MakeWith(arguments) => planned.input = arguments,
        Approval::Deny(text) => planned.plan = Plan::Refuse(Failure::denied(text)),
        Approval::Answer(text) => planned.plan = Plan::Answer(text),
        Approval::Wait { why } => {
            return Permitted::Waits(AgentEvent::ApprovalRequired {
                id: planned.call.id,
                name: planned.call.name,
                input: planned.input,
                why,
            });
        }
    }
    Permitted::Go(planned)
}
