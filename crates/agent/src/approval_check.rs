//! Asking somebody about a call before it is made.

use crate::AgentEvent;
use crate::approval::{Approval, PendingCall};
use crate::call_plan::{CallAction, PlannedCall};
use crate::failure::CallFailure;
use crate::scope::RunContext;

/// A call after somebody was asked.
pub(crate) enum ApprovalOutcome {
    /// It is done as planned.
    Go(PlannedCall),
    /// It waits; this says so.
    Waits(AgentEvent),
}

/// Asks about a call of a tool; everything else harms nobody.
pub(crate) async fn request_approval(
    scope: &RunContext,
    mut planned: PlannedCall,
) -> ApprovalOutcome {
    let (Some(approver), CallAction::Make(tool)) = (&scope.approver, &planned.plan) else {
        return ApprovalOutcome::Go(planned);
    };
    let call = PendingCall {
        id: &planned.call.id,
        tool: tool.spec(),
        arguments: &planned.input,
    };
    match approver.request_approval(call).await {
        Approval::Make => {}
        Approval::MakeWith(arguments) => planned.input = arguments,
        Approval::Deny(text) => planned.plan = CallAction::Refuse(CallFailure::denied(text)),
        Approval::Answer(text) => planned.plan = CallAction::Answer(text),
        Approval::Wait { why } => {
            return ApprovalOutcome::Waits(AgentEvent::ApprovalRequired {
                id: planned.call.id,
                name: planned.call.name,
                input: planned.input,
                why,
            });
        }
    }
    ApprovalOutcome::Go(planned)
}
