//! Runs that outlive their process: what they did, what waits, and what people decide.

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::journal::{
    Decision, DecisionInput, JournalEntry, RunFilter, RunHead, RunSnapshot, RunState,
};
use quillet_host::agent::{DecideError, Deciding, Fork, ForkError, Principal};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::body::JsonBody;
use super::response::agents;
use super::{Id, json as answer_json};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// Runs of one page, where nobody says how many.
const PAGE: usize = 50;
/// Most runs of one page.
const MOST: usize = 1_000;
/// Most steps that one answer shows.
const MOST_STEPS: usize = 10_000;

/// What somebody decides about a call that waits.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct DecideBody {
    /// The call's id; may be missing where one call waits.
    #[serde(default)]
    call: Option<String>,
    /// `approve`, `deny`, `edit` (with `arguments`) or `result` (with `text`).
    decision: String,
    /// The arguments to call the tool with, in place of the model's.
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    /// What the model reads as the result of a call that is not made.
    #[serde(default)]
    text: Option<String>,
    /// Why: of a call that is denied the model reads it.
    #[serde(default)]
    note: Option<String>,
}

/// What was decided.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Decided)]
pub(crate) struct DecisionResponse {
    /// The id of the answer.
    id: String,
    /// The call.
    call: String,
    /// Where the events of what follows are.
    events: String,
}

/// Decides about a call that waits for somebody. When none waits any more, the run goes on at once.
#[utoipa::path(post, path = "/response/{id}/decide", tag = "agent", params(
    ("id" = String, Path, description = "Id of the answer, or of its request"),
), request_body = DecideBody, responses(
    (status = 200, body = DecisionResponse),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json", description = "No such run is kept"),
    (status = 409, body = ProblemDetails, content_type = "application/problem+json", description = "The call does not wait, or somebody else was first"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn decide(
    call: RequestContext,
    Id(id): Id,
    JsonBody(body): JsonBody<DecideBody>,
) -> Result<Response, ApiError> {
    let agents = agents(&call)?;
    let deciding = Deciding {
        call: body.call.clone(),
        decision: decision(body)?,
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

/// Which runs are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunsQuery {
    /// `running`, `waiting`, `ready` or `ended`; all where it is missing.
    state: Option<String>,
    /// Those accepted before this time, in milliseconds since 1970.
    before: Option<u64>,
    /// At most so many; 50 where it is missing, 1,000 at most.
    limit: Option<usize>,
}

/// A durable run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunInfo {
    /// The id of its answer.
    id: String,
    /// What runs: `agent`, `script`.
    kind: String,
    /// The agent, the model, or the script.
    title: String,
    /// When it was accepted, in milliseconds since 1970.
    created_ms: u64,
    /// When its last step was written.
    updated_ms: u64,
    /// How many steps it has.
    steps: u64,
    /// The run that it was forked from, and the last step that it has of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    forked: Option<(String, u64)>,
    /// `state`, and the calls that wait.
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

/// The id of the answer, which follows the scope.
fn public(run: &str) -> String {
    run.rsplit('.').next().unwrap_or(run).to_owned()
}

/// Durable runs of whoever asks, the latest first.
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
        Some(name) => Some(RunState::named(name).ok_or_else(|| {
            let what = format!("state: {name:?} is none of running, waiting, ready and ended");
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

/// A run and what it did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunDetail {
    #[serde(flatten)]
    run: RunInfo,
    /// Its steps, in order.
    #[schema(value_type = Vec<Object>)]
    journal: Vec<JournalEntry>,
}

/// A durable run, with every step that it made.
#[utoipa::path(get, path = "/runs/{id}", tag = "agent", params(
    ("id" = String, Path, description = "Id of the answer, or of its request"),
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

/// How a fork differs from its run.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct ForkBody {
    /// Number of the last step that it has of the other run; all where it is missing.
    #[serde(default)]
    at: Option<u64>,
    /// The model that is asked from there on.
    #[serde(default)]
    model: Option<String>,
    /// The instructions from there on.
    #[serde(default)]
    system: Option<String>,
    /// A stored prompt, `ID` or `ID@8`, whose text the instructions are from there on.
    #[serde(default)]
    prompt: Option<String>,
}

/// A run that was forked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Forked)]
pub(crate) struct ForkResponse {
    /// The id of the new answer.
    id: String,
    /// Where its events are.
    events: String,
}

/// Begins a run with the first steps of another: they are gone through again without asking
/// anybody, and from there on it goes on by itself.
#[utoipa::path(post, path = "/runs/{id}/fork", tag = "agent", params(
    ("id" = String, Path, description = "Id of the answer, or of its request"),
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

/// Forgets a durable run that has ended.
#[utoipa::path(delete, path = "/runs/{id}", tag = "agent", params(
    ("id" = String, Path, description = "Id of the answer, or of its request"),
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
