//! Routes for durable runs: list, show, decide, fork and remove.

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::journal::{
    Decision, DecisionInput, JournalEntry, RunFilter, RunHead, RunSnapshot, RunState,
};
use quillet_host::agent::{CallDecision, DecideError, Fork, ForkError, Principal};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::body::JsonBody;
use super::response::agents;
use super::{Id, json_body as answer_json};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// Default number of runs per page.
const PAGE: usize = 50;
/// Maximum number of runs per page.
const MOST: usize = 1_000;
/// Maximum number of journal events per response.
const MOST_STEPS: usize = 10_000;

/// A decision about a pending approval.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct DecideBody {
    /// The id of the call. It is optional if only one call is pending.
    #[serde(default)]
    call: Option<String>,
    /// `approve`, `deny`, `edit` (with `arguments`) or `result` (with `text`).
    decision: String,
    /// The arguments to use instead of the model's.
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    /// The result that the model reads if the call is not made.
    #[serde(default)]
    text: Option<String>,
    /// The reason. The model receives it if the call is denied.
    #[serde(default)]
    note: Option<String>,
}

/// The result of a decision.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Decided)]
pub(crate) struct DecisionResponse {
    /// The id of the response.
    id: String,
    /// The id of the call.
    call: String,
    /// The path of the events that follow.
    events: String,
}

/// Approves or denies a pending tool call
///
/// When the last pending call is decided, the run resumes immediately.
#[utoipa::path(post, path = "/response/{id}/decide", tag = "agent", params(
    ("id" = String, Path, description = "Id of the response or of its request"),
), request_body = DecideBody, responses(
    (status = 200, body = DecisionResponse),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json", description = "Unknown run"),
    (status = 409, body = ProblemDetails, content_type = "application/problem+json", description = "The call is not pending, or it was decided already"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn decide(
    call: RequestContext,
    Id(id): Id,
    JsonBody(body): JsonBody<DecideBody>,
) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    let deciding = CallDecision {
        call: body.call.clone(),
        decision: decision(body)?,
        // The scope is a digest of the token: the journal must not contain the token itself.
        by: call.principal().scope().to_owned(),
    };
    let who = call.principal();
    let decided = agents.decide(&who, &id, deciding).await?;
    let id = who.response_id(&id);
    answer_json(&DecisionResponse {
        events: format!("/v1/response/{id}/events"),
        call: decided.to_string(),
        id,
    })
}

fn decision(body: DecideBody) -> Result<Decision, ApiError> {
    let words = DecisionInput {
        decision: body.decision,
        arguments: body.arguments,
        text: body.text,
        note: body.note,
    };
    let decided = words.decide();
    decided.map_err(|error| problem(ErrorCode::RequestBody, error.to_string()))
}

/// Query parameters of the list of runs.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunsQuery {
    /// `running`, `waiting`, `ready` or `ended`. Default: all.
    state: Option<String>,
    /// Only runs accepted before this time, in milliseconds since 1970.
    before: Option<u64>,
    /// Maximum number of runs, up to 1,000. Default 50.
    limit: Option<usize>,
}

/// A durable run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunInfo {
    /// The id of its response.
    id: String,
    /// The scope is a digest of the token, because the journal must not contain the token itself.
    kind: String,
    /// The agent, the model, or the script.
    title: String,
    /// The time of acceptance, in milliseconds since 1970.
    created_ms: u64,
    /// The time of the last journal event, in milliseconds since 1970.
    updated_ms: u64,
    /// Number of journal events.
    steps: u64,
    /// The run that this one was forked from, and the last journal event that both share.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    forked: Option<(String, u64)>,
    /// `state`, and the pending calls.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    standing: RunSnapshot,
}

impl RunInfo {
    fn of(head: RunHead) -> Self {
        RunInfo {
            id: public(&head.id),
            kind: head.kind.to_string(),
            title: head.title.to_string(),
            created_ms: head.created_ms,
            updated_ms: head.updated_ms,
            steps: head.last,
            forked: head.forked.map(|(run, at)| (public(&run), at)),
            standing: head.standing,
        }
    }
}

/// Returns the id of the response, which is the part of the run id after the scope.
fn public(run: &str) -> String {
    run.rsplit('.').next().unwrap_or(run).to_owned()
}

/// Lists the durable runs of the caller, latest first
#[utoipa::path(get, path = "/runs", tag = "agent", params(RunsQuery), responses(
    (status = 200, body = Vec<RunInfo>),
    (status = 422, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn list_runs(
    call: RequestContext,
    QueryParams(listed): QueryParams<RunsQuery>,
) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    let state = match listed.state.as_deref() {
        None => None,
        Some(name) => Some(RunState::from_name(name).ok_or_else(|| {
            let what =
                format!("state: unknown value {name:?}; expected running, waiting, ready or ended");
            problem(ErrorCode::RequestQuery, what)
        })?),
    };
    let filter = RunFilter {
        scope: Some(call.principal().scope().into()),
        state,
        before_ms: listed.before,
        most: listed.limit.unwrap_or(PAGE).min(MOST),
    };
    let heads = agents.runs(&filter).await?;
    answer_json(&heads.into_iter().map(RunInfo::of).collect::<Vec<_>>())
}

/// A run with its journal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunDetail {
    #[serde(flatten)]
    run: RunInfo,
    /// Its journal events, in order.
    #[schema(value_type = Vec<Object>)]
    journal: Vec<JournalEntry>,
}

/// Returns a durable run with its journal
#[utoipa::path(get, path = "/runs/{id}", tag = "agent", params(
    ("id" = String, Path, description = "Id of the response or of its request"),
), responses(
    (status = 200, body = RunDetail),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn get_run(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    let (head, journal) = agents.run(&call.principal(), &id, MOST_STEPS).await?;
    answer_json(&RunDetail {
        run: RunInfo::of(head),
        journal,
    })
}

/// Changes from the original run to its fork.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct ForkBody {
    /// The number of the last journal event to copy. Default: all.
    #[serde(default)]
    at: Option<u64>,
    /// The model for the new part of the run.
    #[serde(default)]
    model: Option<String>,
    /// The instructions for the new part of the run.
    #[serde(default)]
    system: Option<String>,
    /// A stored prompt, `ID` or `ID@8`, whose text replaces the instructions in the new part of the
    /// run.
    #[serde(default)]
    prompt: Option<String>,
}

/// The result of a fork.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Forked)]
pub(crate) struct ForkResponse {
    /// The id of the new response.
    id: String,
    /// The path of its events.
    events: String,
}

/// Forks a run: starts a new run from the first journal events of another
///
/// The copied events are replayed without calls of models or tools. After them the new run
/// continues independently.
#[utoipa::path(post, path = "/runs/{id}/fork", tag = "agent", params(
    ("id" = String, Path, description = "Id of the response or of its request"),
), request_body = ForkBody, responses(
    (status = 200, body = ForkResponse),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn fork_run(
    call: RequestContext,
    Id(id): Id,
    JsonBody(body): JsonBody<ForkBody>,
) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    let who: Principal = call.principal();
    let fork = Fork {
        at: body.at,
        model: body.model,
        system: body.system,
        prompt: body.prompt,
        request_id: None,
    };
    let id = agents.fork(&who, &id, fork).await?;
    answer_json(&ForkResponse {
        events: format!("/v1/response/{id}/events"),
        id,
    })
}

/// Removes a durable run that has ended
#[utoipa::path(delete, path = "/runs/{id}", tag = "agent", params(
    ("id" = String, Path, description = "Id of the response or of its request"),
), responses(
    (status = 204),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 409, body = ProblemDetails, content_type = "application/problem+json", description = "The run has not ended"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn remove_run(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    agents.forget(&call.principal(), &id).await?;
    let mut answer = Response::default();
    *answer.status_mut() = axum::http::StatusCode::NO_CONTENT;
    Ok(answer)
}

impl From<DecideError> for ApiError {
    fn from(error: DecideError) -> Self {
        problem(error.code(), error.to_string())
    }
}

impl From<ForkError> for ApiError {
    fn from(error: ForkError) -> Self {
        problem(error.code(), error.to_string())
    }
}
