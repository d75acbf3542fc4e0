//! Pending approvals as forms for the user of the client (`elicitation/create`).
//!
//! From revision 2026-07-28 on, a server does not send requests. The result of the call lists the
//! required decisions, and the client repeats the call with the answers, to any replica. In older
//! revisions the server asks during the call. That requires a connection, so it works over stdio
//! but not over HTTP, where requests are independent.
//!
//! The specification has three answers. `accept` contains the form. `decline` denies the call.
//! `cancel` decides nothing, so the call stays pending.

use quillet_core::journal::{ApprovalReason, Decision, PendingApproval};
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value as Tree, json};

/// How the server asks a client for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApprovalChannel {
    /// In the result of the call.
    InResult,
    /// During the call.
    Meanwhile,
    /// The client cannot be asked.
    Never,
}

/// Selects the channel for a client, which must declare support for forms.
pub(super) fn way(context: &RequestContext<RoleServer>) -> ApprovalChannel {
    let capabilities = context.client_capabilities();
    let elicits = capabilities.and_then(|capabilities| capabilities.elicitation);
    // Before the protocol had URL elicitation, the bare capability meant forms.
    let shows_forms = elicits.is_some_and(|able| able.form.is_some() || able.url.is_none());
    if !shows_forms {
        return ApprovalChannel::Never;
    }
    match context.protocol_version() {
        Some(version) if version >= ProtocolVersion::V_2026_07_28 => ApprovalChannel::InResult,
        _ => ApprovalChannel::Meanwhile,
    }
}

/// Result that requests decisions. The client returns the run's id with them.
pub(super) fn input_required(run: String, calls: &[PendingApproval]) -> InputRequiredResult {
    let requests = calls.iter().filter_map(|call| {
        let request = ElicitRequest::new(form(call)?);
        Some((call.call.to_string(), InputRequest::Elicitation(request)))
    });
    let requests: InputRequests = requests.collect();
    InputRequiredResult::new(Some(requests), Some(run))
}

/// Reads the client's answers to [`input_required`]. Calls without a decision are omitted.
pub(super) fn answers(responses: InputResponses) -> Vec<(String, Decision)> {
    let decided = responses.into_iter().filter_map(|(call, response)| {
        let answer = serde_json::from_value(response).ok()?;
        Some((call, decision(answer)?))
    });
    decided.collect()
}

/// Asks about one call while the client waits for its result. `None` if the user decides nothing,
/// or the client cannot be asked after all.
pub(super) async fn ask(
    context: &RequestContext<RoleServer>,
    call: &PendingApproval,
) -> Option<(String, Decision)> {
    let request = ElicitRequest::new(form(call)?);
    let request = ServerRequest::ElicitRequest(request);
    let answer = context.peer.send_request(request).await;
    match answer {
        Ok(ClientResult::ElicitResult(answer)) => Some((call.call.to_string(), decision(answer)?)),
        Ok(_) => None,
        Err(error) => {
            tracing::debug!(%error, "cannot ask an MCP client for approval");
            None
        }
    }
}

fn decision(answer: ElicitResult) -> Option<Decision> {
    let content = answer.content.unwrap_or_default();
    let note = content["note"].as_str().map(str::trim);
    let note = note.filter(|note| !note.is_empty()).map(str::to_owned);
    match answer.action {
        ElicitationAction::Accept if content["decision"] == "approve" => Some(Decision::Approve {
            arguments: None,
            note,
        }),
        ElicitationAction::Accept | ElicitationAction::Decline => Some(Decision::Deny { note }),
        _ => None,
    }
}

fn form(call: &PendingApproval) -> Option<ElicitRequestParams> {
    let arguments = Tree::Object(call.arguments.clone());
    let message = match call.why {
        ApprovalReason::Permission => format!("May {} be called with {arguments}?", call.tool),
        ApprovalReason::Unknown => format!(
            "{} may have been called with {arguments} already: call it again?",
            call.tool
        ),
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": {"type": "string", "title": "Decision", "enum": ["approve", "deny"]},
            "note": {"type": "string", "title": "Why not", "description": "The model reads it where the call is denied."},
        },
        "required": ["decision"],
    });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema,
    })
}

/// Text for a client that cannot be asked, or whose user decided nothing.
pub(super) fn left_waiting(run: &str, calls: &[PendingApproval]) -> String {
    let tools: Vec<&str> = calls.iter().map(|call| &*call.tool).collect();
    format!(
        "The run waits for a decision about {}: POST /v1/response/{run}/decide, or `quillet runs \
         decide {run} approve` and `quillet runs resume {run}`.",
        tools.join(", ")
    )
}
