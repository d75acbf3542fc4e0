//! Runs queries and returns rows as JSON or as a file.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_sql::export::{ExportFormat, NamedRows};
use quillet_sql::{QueryLimits, QueryRun, RunOptions, SqlConfig};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::file::{ExportRequest, file, takes_trailers};
use super::served::{count, databases};
use crate::api::{Id, json_body};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::{QueryParams, RequiredJson};
use crate::request_context::RequestContext;

/// The range of timeouts in seconds.
const SECONDS: std::ops::RangeInclusive<u64> = 10..=300;

/// A query.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueryBody {
    /// A single statement that only reads.
    sql: String,
    /// The question that the query answers, for the history.
    natural_query: Option<String>,
    /// The timeout in the database in seconds, from 10 to 300. Default: the server's setting.
    timeout_seconds: Option<u64>,
}

/// Query parameters that select the format of rows.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RowFormatQuery {
    /// `json`, `ndjson`, `csv`, `arrow`, `parquet`, and so on. Overrides the header `Accept`.
    format: Option<String>,
}

/// The result of a query.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Answer)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueryResponse<'a> {
    /// The executed query.
    pub(super) sql: &'a str,
    /// `columns` (the keys of the rows), `columnInfo` (name and type of each column), `rows` as
    /// objects, `rowCount`, `truncated`.
    #[schema(value_type = Object)]
    pub(super) result: NamedRows<'a>,
    /// The execution time in the database, in milliseconds.
    pub(super) execution_time_ms: u64,
}

impl<'a> QueryResponse<'a> {
    pub(super) fn new(ran: &'a QueryRun) -> Self {
        QueryResponse {
            sql: &ran.sql,
            result: NamedRows(&ran.rows),
            execution_time_ms: ran.execution_ms,
        }
    }
}

/// Runs one read-only statement under the guard
///
/// If `format` or `Accept` selects a file format, the response is a file with a higher row limit
/// than JSON. The field `Quillet-Truncated` reports whether rows are missing: a header of a short
/// file, a trailer of a long one. A long file is streamed and is aborted if the query fails.
#[utoipa::path(post, path = "/dbs/{name}/query", operation_id = "run_query", tag = "databases",
    params(("name" = String, Path), RowFormatQuery), request_body = QueryBody, responses(
    (status = 200, body = QueryResponse),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "The guard or the database rejects the query; `position` and `help` give the location and the fix"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 408, body = ProblemDetails, content_type = "application/problem+json", description = "The query timed out"),
    (status = 422, body = ProblemDetails, content_type = "application/problem+json", description = "Invalid body"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The query failed, or the database cannot be reached"),
))]
pub(crate) async fn run(
    call: RequestContext,
    Id(name): Id,
    QueryParams(wanted): QueryParams<RowFormatQuery>,
    headers: HeaderMap,
    RequiredJson(body): RequiredJson<QueryBody>,
) -> Result<Response, ApiError> {
    let format = format(&wanted, &headers)?;
    let databases = databases(&call)?;
    let config = databases.config();
    let options = RunOptions {
        question: body.natural_query,
        limits: Some(limits(config, format, body.timeout_seconds)?),
        ..RunOptions::default()
    };
    if let Some(format) = format {
        let asked = ExportRequest {
            call: &call,
            name,
            sql: body.sql,
            options,
            format,
            takes_trailers: takes_trailers(&headers),
        };
        return file(asked, databases).await;
    }
    let ran = databases.run(&name, &body.sql, &options).await?;
    count(&call, ran.execution_ms);
    json_body(&QueryResponse::new(&ran))
}

/// Returns the requested format, or `None` for the JSON of the API.
fn format(wanted: &RowFormatQuery, headers: &HeaderMap) -> Result<Option<ExportFormat>, ApiError> {
    let named = match &wanted.format {
        Some(name) => Some(
            name.parse::<ExportFormat>()
                .map_err(|error| problem(error.code(), error.to_string()))?,
        ),
        None => accepted(headers),
    };
    Ok(named.filter(|format| *format != ExportFormat::Json))
}

/// Returns the first known format in `Accept`, or `None` (JSON) if the client accepts anything.
fn accepted(headers: &HeaderMap) -> Option<ExportFormat> {
    let accept = headers.get(ACCEPT)?.to_str().ok()?;
    let bare = |media: &str| {
        media
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    accept.split(',').find_map(|wished| {
        let wished = bare(wished);
        let is_it = |format: &ExportFormat| bare(format.media_type()) == wished;
        ExportFormat::ALL.into_iter().find(is_it)
    })
}

/// Returns the limits of a query. Files may have more rows.
pub(super) fn limits(
    config: &SqlConfig,
    format: Option<ExportFormat>,
    seconds: Option<u64>,
) -> Result<QueryLimits, ApiError> {
    // Files are streamed and may have more rows, but JSON is held in memory.
    let bounds = match format {
        None => &config.limits,
        Some(_) => &config.export_limits,
    };
    let timeout = match seconds {
        None => bounds.timeout,
        Some(seconds) if SECONDS.contains(&seconds) => Duration::from_secs(seconds),
        Some(seconds) => {
            let (least, most) = (SECONDS.start(), SECONDS.end());
            let message = format!("invalid timeoutSeconds {seconds}: expected {least} to {most}");
            return Err(problem(ErrorCode::SqlInvalidTimeout, message).with_param("timeoutSeconds"));
        }
    };
    Ok(QueryLimits {
        timeout,
        ..bounds.clone()
    })
}
