//! The routes of agent runs.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::runs::LogPage;
use quillet_host::agent::{AgentRequest, AgentService, Principal, RunHandle, definitions_of};
use quillet_host::definitions::Permission;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::blocks::BlockOptions;
use super::cancel::CancelBody;
use super::events::AgentEncoder;
use super::stream::AgentEventStream;
use super::{log, refuse, schema, stream, validation, whole};
use crate::api::body::{self, JsonBody};
use crate::api::{Id, json_body as answer_json};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// Runs an agent
///
/// The response is a stream of server-sent events (`response.start`, `content.delta`,
/// `reasoning.delta`, `tool.start`, `tool.done`, …) that ends with `response.done`,
/// `response.cancelled` or `response.error`. If `features.streaming` is off, it is a single object.
#[utoipa::path(post, path = "/response", tag = "agent", request_body = Object, responses(
    (status = 200, body = String, content_type = "text/event-stream"),
    (status = 409, body = Object, description = "A request with this id is in progress"),
    (status = 413, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 422, body = Object, description = "All errors of the request"),
    (status = 429, body = Object, description = "A limit on runs is reached; see `Retry-After`"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "Agents are not configured, or the server is shutting down"),
))]
pub(crate) async fn respond(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    let config = &call.app.config;
    let most = agents.options().body_bytes;
    let bytes = body::read(request.into_body(), most, config.body_time).await?;
    if bytes.trim_ascii().is_empty() {
        return Ok(refuse::unprocessable(&validation::no_body()));
    }
    let json: Value = match serde_json::from_slice(&bytes) {
        Ok(json) => json,
        Err(error) => return Ok(refuse::unprocessable(&validation::not_json(&error))),
    };
    // A request can be megabytes long, so free its bytes before the run begins.
    drop(bytes);
    match schema::read(json, agents.parts().models.default_model().is_some()) {
        Ok(request) => {
            check_permissions(&call, &agents, &request).await?;
            Ok(begin(&call, &agents, request).await)
        }
        Err(faults) => Ok(refuse::unprocessable(&faults.body())),
    }
}

/// Checks that the caller may render all definitions that the request itself names: an agent,
/// tools, and prompts as tools. Definitions used by the agent are not checked, because its author
/// chose them.
///
/// # Errors
/// Fails with `auth.forbidden`.
pub(crate) async fn check_permissions(
    call: &RequestContext,
    agents: &AgentService,
    request: &AgentRequest,
) -> Result<(), ApiError> {
    if call.rights().are_all() {
        return Ok(());
    }
    for (kind, id) in definitions_of(agents, request) {
        call.require_permission(Permission::Render, kind, &id)
            .await?;
    }
    Ok(())
}

async fn begin(
    call: &RequestContext,
    agents: &Arc<AgentService>,
    request: AgentRequest,
) -> Response {
    let id = call
        .exchange
        .set_agent_id(request.metadata.request_id.as_deref());
    let who = call.principal();
    let streaming = request.features.streaming;
    let options = agents.options();
    // A run that survives its process must also survive the loss of its reader.
    let is_durable =
        request.features.durable.unwrap_or(options.durable) || !request.tools.ask.is_empty();
    let resumable = is_durable || request.features.resumable.unwrap_or(options.resumable);
    let wanted = request.features.events.clone();
    let mut running = match agents.begin(request, &who, &id).await {
        Ok(running) => running,
        Err(refused) => return refuse::refused(&refused),
    };
    if streaming && resumable {
        running.logged();
    }
    let telling = encode_run(agents, running, wanted);
    let ping = call.app.config.ping_time;
    if !streaming {
        return whole::answer(telling).await;
    }
    if !resumable {
        return stream::answer(telling, ping);
    }
    let run = telling.running().run_id().to_owned();
    // Write the log in a separate task, because the run must survive the disconnect of this client.
    agents.spawn(log::write(agents.clone(), telling));
    log::answer(
        agents,
        run,
        0,
        LogPage::default(),
        log::PollTimeouts {
            ping,
            patience: options.log_patience,
        },
    )
}

fn encode_run(agents: &AgentService, running: RunHandle, wanted: Vec<String>) -> AgentEventStream {
    let options = agents.options();
    let blocks = BlockOptions {
        shown_tools: options.shown_tools.clone(),
        output_bytes: options.block_output_bytes,
    };
    let teller = AgentEncoder::new(running.id().to_owned(), blocks, wanted);
    AgentEventStream::new(running, teller)
}

/// Resumes abandoned durable runs while it is polled. Their events go to their logs, where readers
/// find them.
pub(crate) async fn watch(agents: Arc<AgentService>) {
    let service = agents.clone();
    let go = move |running: RunHandle| {
        let telling = encode_run(&service, running, Vec::new());
        service.spawn(log::write(service.clone(), telling));
    };
    agents.watch(go).await;
}

/// The result of a cancellation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Cancelled)]
pub(crate) struct CancelResponse {
    /// Always `true`.
    success: bool,
    /// A message for people.
    message: &'static str,
}

/// Cancels a response on any replica
#[utoipa::path(post, path = "/response/cancel", tag = "agent", request_body = CancelBody, responses(
    (status = 200, body = CancelResponse),
    (status = 404, body = Object, description = "No such request is in progress"),
    (status = 422, body = Object),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn cancel(
    call: RequestContext,
    JsonBody(body): JsonBody<CancelBody>,
) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    if body.request_id.is_empty() {
        let missing = json!({"detail": [{
            "type": "missing", "loc": ["body", "request_id"], "msg": "Field required", "input": {},
        }]});
        return Ok(refuse::unprocessable(&missing));
    }
    let stopped = agents.cancel(&call.principal(), &body.request_id).await;
    if stopped.map_err(quillet_prompt::ServiceError::Store)? {
        answer_json(&CancelResponse {
            success: true,
            message: "Request cancelled",
        })
    } else {
        Ok(not_found("Request not found or already completed"))
    }
}

fn not_found(detail: &str) -> Response {
    refuse::answer(404, &json!({"detail": detail}))
}

/// The position from which a stream is resumed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ResumeQuery {
    /// The number of the last event that the client has. The header `Last-Event-ID` has the same
    /// meaning.
    after: Option<u64>,
}

/// Resumes a dropped stream with the events of a resumable response after the last received one
#[utoipa::path(get, path = "/response/{id}/events", tag = "agent", params(
    ("id" = String, Path, description = "Id of the response or of its request"), ResumeQuery,
), responses(
    (status = 200, body = String, content_type = "text/event-stream"),
    (status = 404, body = Object, description = "Unknown response"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn resume(
    call: RequestContext,
    Id(id): Id,
    headers: HeaderMap,
    QueryParams(from): QueryParams<ResumeQuery>,
) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    let after = from.after.or_else(|| last_event(&headers)).unwrap_or(0);
    let run = call.principal().run_id(&id);
    let runs = agents.parts().runs.clone();
    let page = runs.read(&run, after, std::time::Duration::ZERO).await;
    match page.map_err(quillet_prompt::ServiceError::Store)? {
        None => Ok(not_found(
            "Response not found, not resumable or no longer kept",
        )),
        Some(page) => Ok(log::answer(
            &agents,
            run,
            after,
            page,
            log::PollTimeouts {
                ping: call.app.config.ping_time,
                patience: agents.options().log_patience,
            },
        )),
    }
}

/// Parses `7`, or the same number after the id of the response.
fn last_event(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get("last-event-id")?.to_str().ok()?;
    text.rsplit(':').next()?.trim().parse().ok()
}

/// The health of the agents.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentHealth {
    /// `ok`, or `degraded` while the store is unavailable.
    status: &'static str,
    /// The version of this program.
    version: &'static str,
    /// Seconds since the start.
    uptime_seconds: u64,
    /// The number of responses in progress.
    active_streams: u64,
    /// The store of conversations.
    storage: Storage,
    /// The available providers.
    model_providers: Vec<String>,
}

/// The store of conversations.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Storage {
    /// The type and location of the store.
    #[serde(rename = "type")]
    kind: String,
    /// `ok` or `error`.
    status: &'static str,
}

/// Returns the health of the agents
#[utoipa::path(get, path = "/health", tag = "agent", responses(
    (status = 200, body = AgentHealth),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn health(call: RequestContext) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    let sessions = &agents.parts().sessions;
    let answers = sessions.list(1).await.is_ok();
    answer_json(&AgentHealth {
        status: if answers { "ok" } else { "degraded" },
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: call.app.metrics.uptime().as_secs(),
        active_streams: agents.active(),
        storage: Storage {
            kind: sessions.describe(),
            status: if answers { "ok" } else { "error" },
        },
        model_providers: agents.parts().models.providers(),
    })
}

/// The state of this process, in the format of probes for Chat Shell.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Serving)]
pub(crate) struct ReadinessState {
    /// `healthy`, `ready`, `started`, `shutting_down` or `runs_unavailable`.
    status: &'static str,
    /// The version of this program.
    version: &'static str,
    /// Whether it is shutting down.
    shutting_down: bool,
    /// The number of responses in progress.
    active_streams: u64,
}

fn serving(call: &RequestContext, status: &'static str) -> ReadinessState {
    ReadinessState {
        status,
        version: env!("CARGO_PKG_VERSION"),
        shutting_down: call.app.is_stopping(),
        active_streams: call.app.agents.as_ref().map_or(0, |agents| agents.active()),
    }
}

/// Reports that the process is alive, even during shutdown
#[utoipa::path(get, path = "/health", tag = "agent", operation_id = "process_health", responses((status = 200, body = ReadinessState)))]
pub(crate) async fn alive(call: RequestContext) -> Result<Response, ApiError> {
    answer_json(&serving(&call, "healthy"))
}

/// Reports that the process has started
#[utoipa::path(get, path = "/startup", tag = "agent", responses((status = 200, body = ReadinessState)))]
pub(crate) async fn startup(call: RequestContext) -> Result<Response, ApiError> {
    answer_json(&serving(&call, "started"))
}

/// Reports whether new responses can start
#[utoipa::path(get, path = "/ready", tag = "agent", responses(
    (status = 200, body = ReadinessState),
    (status = 503, body = ReadinessState, description = "The server is shutting down, or the store of `agent.runs` is unavailable"),
))]
pub(crate) async fn ready(call: RequestContext) -> Result<Response, ApiError> {
    if call.app.is_stopping() {
        let body = serving(&call, "shutting_down");
        return Ok(refuse::answer(503, &body));
    }
    if call.app.runs_outage().is_some() {
        let body = serving(&call, "runs_unavailable");
        return Ok(refuse::answer(503, &body));
    }
    answer_json(&serving(&call, "ready"))
}

pub(crate) fn agents(call: &RequestContext) -> Result<Arc<AgentService>, ApiError> {
    call.app.agents.clone().ok_or_else(|| {
        problem(
            ErrorCode::AgentConfiguration,
            "agents are not configured on this server",
        )
    })
}

impl RequestContext {
    /// Returns the principal of the client, for limits and runs.
    pub(crate) fn principal(&self) -> Principal {
        self.app.auth.principal(self.client)
    }
}
