//! Agents as models: converts the events of a run to those of a model. Calls of the agent's own
//! tools are internal, and calls of tools from the request are returned to the client.

use std::sync::Arc;

use quillet_core::ErrorCode;
use quillet_core::chat::ChatRequest;
use quillet_host::agent::{
    AdmissionError, AgentRequest, AgentService, CallDecision, ModelSettings, Principal, RunInput,
    ToolSettings,
};

use super::run_events::start_stream;
use super::{approval, batch_resume, models};
use crate::api::event_stream::{PendingReply, StreamingReply};
use crate::api::response::check_permissions;
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Starts or resumes a run of the agent that the model name selects.
pub(super) async fn ask(
    call: &RequestContext,
    name: Option<String>,
    request: ChatRequest,
) -> Result<PendingReply, ApiError> {
    let name = name.unwrap_or_default();
    let Some(agents) = call.app.agents.clone() else {
        return Err(models::unknown(&name, None));
    };
    if request.options.n.is_some_and(|n| n > 1) {
        let message = "n: must be 1: an agent returns a single choice";
        return Err(problem(ErrorCode::InvalidValue, message).with_param("n"));
    }
    let (who, id) = (call.principal(), call.exchange.set_agent_id(None));
    let decisions = approval::decisions(&request.messages);
    if !decisions.is_empty() {
        return resume_run(agents, who, decisions);
    }
    let request = of_agents(name, request);
    check_permissions(call, &agents, &request).await?;
    Ok(begin(agents, request, who, id, call.exchange.is_row()))
}

/// Starts a run and returns its events as those of a model. A batch row resumes its earlier run, if
/// there is one.
pub(crate) fn begin(
    agents: Arc<AgentService>,
    request: AgentRequest,
    who: Principal,
    id: String,
    is_row: bool,
) -> PendingReply {
    Box::pin(async move {
        if is_row && let Some(stream) = batch_resume::before(&agents, &who, &id).await? {
            return Ok(StreamingReply {
                stream,
                warnings: Vec::new(),
            });
        }
        let running = agents
            .begin(request, &who, &id)
            .await
            .map_err(|error| refused(&error))?;
        let stream = start_stream(running, false).await?;
        Ok(StreamingReply {
            stream,
            warnings: Vec::new(),
        })
    })
}

/// Records the decisions and resumes the run.
pub(super) fn resume_run(
    agents: Arc<AgentService>,
    who: Principal,
    decisions: Vec<approval::ApprovalResponse>,
) -> Result<PendingReply, ApiError> {
    let response = decisions.first().map(|answered| answered.response.clone());
    let response = response.unwrap_or_default();
    // A request can only resume one run.
    if decisions.iter().any(|other| other.response != response) {
        let message = "messages: the last tool results belong to calls from more than one response";
        return Err(problem(ErrorCode::InvalidValue, message).with_param("messages"));
    }
    Ok(Box::pin(async move {
        for answered in decisions {
            let deciding = CallDecision {
                call: Some(answered.call),
                decision: answered.decision,
                by: who.scope().to_owned(),
            };
            agents.record_decision(&who, &response, deciding).await?;
        }
        let running = agents.resume_run(&who.run_id(&response)).await;
        let running = running.map_err(quillet_prompt::ServiceError::Store)?;
        let Some(running) = running else {
            let message = format!(
                "the run of {response} needs more decisions, or another process continues it: see GET /v1/runs/{response}"
            );
            return Err(problem(ErrorCode::DurableNotWaiting, message));
        };
        Ok(StreamingReply {
            stream: start_stream(running, false).await?,
            warnings: Vec::new(),
        })
    }))
}

/// The request contains the whole conversation, so no session is loaded or stored.
fn of_agents(name: String, request: ChatRequest) -> AgentRequest {
    let mut options = request.options;
    let mut asked = AgentRequest {
        model: Some(ModelSettings {
            model_id: name,
            ..ModelSettings::default()
        }),
        temperature: options.temperature.take(),
        max_tokens: options.max_tokens.take(),
        input: RunInput::Messages(request.messages),
        tools: ToolSettings {
            custom: std::mem::take(&mut options.tools),
            ..ToolSettings::default()
        },
        tool_choice: options.tool_choice.take(),
        ..AgentRequest::default()
    };
    asked.options = options;
    asked
}

fn refused(refused: &AdmissionError) -> ApiError {
    let wait = refused.retry_after();
    let error = problem(refused.code(), refused.to_string());
    match wait {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    }
}
