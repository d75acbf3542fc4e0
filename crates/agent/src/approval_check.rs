//! Checks whether a call needs approval before it is made.

use crate::AgentEvent;
use crate::approval::{Approval, PendingCall};
use crate::call_plan::{CallAction, PlannedCall};
use crate::failure::CallFailure;
use crate::scope::RunContext;

/// Result of the approval check.
pub(crate) enum ApprovalOutcome {
    /// Proceed with this plan.
    Go(PlannedCall),
    /// The call is pending; this event reports it.
    Waits(AgentEvent),
}

/// Checks a call. Only tool calls need approval, because other plans have no effects outside the
/// run.
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
        // Edited arguments are not validated again, because only the plan validates them.
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
