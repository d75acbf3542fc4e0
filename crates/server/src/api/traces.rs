//! Routes that list and show traces.

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::trace::{Trace, TraceFilter, TraceInfo, TraceReader};
use quillet_host::definitions::{DefinitionError, Permission};
use quillet_llm::models::cost_of_trace;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Id, json_body};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::{QueryParams, is_on};
use crate::request_context::RequestContext;

/// Default number of traces per page.
const PAGE: usize = 100;
/// Maximum number of traces per page.
const MOST: usize = 1_000;

/// Query parameters of the list of traces.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TracesQuery {
    /// Only traces whose name or model contains this text.
    text: Option<String>,
    /// `true`: only traces with a failure.
    failed: Option<String>,
    /// Only traces of the durable run with this id, as listed by `GET /v1/runs`.
    run: Option<String>,
    /// Only traces that began at this time or later, in milliseconds since 1970.
    since_ms: Option<u64>,
    /// Only traces before the one with this `number`: the `next` of the previous page.
    before: Option<u64>,
    /// Maximum number of traces, up to 1,000. Default 100.
    limit: Option<usize>,
}

/// A page of traces, latest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Traces {
    #[schema(value_type = Vec<Object>)]
    traces: Vec<TraceInfo>,
    /// The value of `before` for the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// A trace with its cost.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TraceDetail {
    /// The cost in US dollars, if the price of every model in the trace is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    /// `id` and `spans`, ordered by start. The first span is the root.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    trace: Trace,
}

/// Lists the traces of runs and chats, latest first
///
/// Texts of prompts and replies are included only if `agent.trace_texts` is set.
#[utoipa::path(get, path = "/traces", tag = "traces", params(TracesQuery), responses(
    (status = 200, body = Traces),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json", description = "Traces are not enabled"),
))]
pub(crate) async fn list_traces(
    call: RequestContext,
    QueryParams(listed): QueryParams<TracesQuery>,
) -> Result<Response, ApiError> {
    let kept = trace_reader(&call).await?;
    let filter = TraceFilter {
        since_us: listed.since_ms.unwrap_or_default().saturating_mul(1_000),
        failed: is_on(listed.failed.as_deref()),
        text: listed.text.filter(|text| !text.is_empty()),
        run: listed.run.filter(|run| !run.is_empty()),
        before: listed.before,
    };
    let most = listed.limit.unwrap_or(PAGE).clamp(1, MOST);
    let traces = kept.list(&filter, most).await;
    let traces = traces.map_err(DefinitionError::Store)?;
    let last = traces.last().filter(|_| traces.len() == most);
    json_body(&Traces {
        next: last.map(|last| last.number),
        traces,
    })
}

/// Returns a trace with all of its spans
#[utoipa::path(get, path = "/traces/{id}", tag = "traces", params(("id" = String, Path)), responses(
    (status = 200, body = TraceDetail),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn get_trace(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    let found = trace_reader(&call).await?.trace(&id).await;
    let found = found.map_err(DefinitionError::Store)?;
    let trace = found.ok_or_else(|| {
        let message = format!("unknown trace {id:?}");
        problem(ErrorCode::NotFound, message).with_hint("GET /v1/traces lists the traces")
    })?;
    json_body(&TraceDetail {
        cost_usd: cost_of_trace(&trace),
        trace,
    })
}

async fn trace_reader(call: &RequestContext) -> Result<&dyn TraceReader, ApiError> {
    call.require_everywhere(Permission::Read).await?;
    call.app.traces.as_deref().ok_or_else(|| {
        let message = "traces are not enabled on this server";
        problem(ErrorCode::NotFound, message)
            .with_hint("set agent.traces (QUILLET_TRACES) to a file")
    })
}
