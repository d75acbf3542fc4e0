//! Running a query: rows as JSON, or as a file.

use std::time::Duration;

use axum::http::header::{ACCEPT, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use quillet_sql::export::{self, AsJson, CsvOptions, Format};
use quillet_sql::{QueryLimits, Ran, RunOptions, SqlConfig};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::databases;
use super::given::{Body, Params};
use crate::api::{Id, json};
use crate::error::{ApiError, Problem, problem};
use crate::exchange::Call;

/// Times that a request may ask for, in seconds (note 1.1 on seed 001).
const SECONDS: std::ops::RangeInclusive<u64> = 10..=300;

/// A query.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueryBody {
    /// One statement that reads.
    sql: String,
    /// The question that it answers, for the history.
    natural_query: Option<String>,
    /// How long the database may take, from 10 to 300; the server's setting where absent.
    timeout_seconds: Option<u64>,
}

/// In which form rows are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// `json`, `ndjson`, `csv`, `arrow`, `parquet`, …; goes before the header `Accept`.
    format: Option<String>,
}

/// A query that ran.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer<'a> {
    /// The query as it ran.
    pub(super) sql: &'a str,
    /// `columns`, `rows` as objects, `rowCount`, `truncated`.
    #[schema(value_type = Object)]
    pub(super) result: AsJson<'a>,
    /// How long the database took, in milliseconds.
    pub(super) execution_time_ms: u64,
}

impl<'a> Answer<'a> {
    pub(super) fn new(ran: &'a Ran) -> Self {
        Answer {
            sql: &ran.sql,
            result: AsJson(&ran.rows),
            execution_time_ms: ran.execution_ms,
        }
    }
}

/// Runs one statement that reads, under the guard. With `format`, or an `Accept` that names
/// one of the forms, the answer is a file with more rows than the JSON answer has; the header
/// `Quillet-Truncated` says whether rows are missing.
#[utoipa::path(post, path = "/dbs/{name}/query", operation_id = "run_query", tag = "databases",
    params(("name" = String, Path), Wanted), request_body = QueryBody, responses(
    (status = 200, body = Answer),
    (status = 400, body = Problem, content_type = "application/problem+json", description = "The guard or the database refuses the text; `position` and `help` say where and how to mend it"),
    (status = 404, body = Problem, content_type = "application/problem+json"),
    (status = 408, body = Problem, content_type = "application/problem+json", description = "It took longer than it may"),
    (status = 422, body = Problem, content_type = "application/problem+json", description = "The body does not fit"),
    (status = 503, body = Problem, content_type = "application/problem+json", description = "It failed while it ran, or the database cannot be reached"),
))]
pub(crate) async fn run(
    call: Call,
    Id(name): Id,
    Params(wanted): Params<Wanted>,
    headers: HeaderMap,
    Body(body): Body<QueryBody>,
) -> Result<Response, ApiError> {
    let format = format(&wanted, &headers)?;
    let databases = databases(&call)?;
    let config = databases.config();
    let options = RunOptions {
        question: body.natural_query,
        limits: Some(limits(config, format, body.timeout_seconds)?),
        ..RunOptions::default()
    };
    let ran = databases.run(&name, &body.sql, &options).await?;
    count(&call, &ran);
    match format {
        None => json(&Answer::new(&ran)),
        Some(format) => file(&name, ran, format).await,
    }
}

pub(super) fn count(call: &Call, ran: &Ran) {
    let time = Duration::from_millis(ran.execution_ms);
    call.app.metrics.queries.record(time);
}

/// The form that is asked for; `None` for the JSON of the API.
fn format(wanted: &Wanted, headers: &HeaderMap) -> Result<Option<Format>, ApiError> {
    let named = match &wanted.format {
        Some(name) => Some(
            name.parse::<Format>()
                .map_err(|error| problem(422, error.code(), error.to_string()))?,
        ),
        None => accepted(headers),
    };
    Ok(named.filter(|format| *format != Format::Json))
}

/// The first form that `Accept` names; whoever takes anything gets JSON.
fn accepted(headers: &HeaderMap) -> Option<Format> {
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
        let is_it = |format: &Format| bare(format.media_type()) == wished;
        Format::ALL.into_iter().find(is_it)
    })
}

/// The bounds of a query: files may have more rows.
pub(super) fn limits(
    config: &SqlConfig,
    format: Option<Format>,
    seconds: Option<u64>,
) -> Result<QueryLimits, ApiError> {
    let bounds = match format {
        None => &config.limits,
        Some(_) => &config.export_limits,
    };
    let timeout = match seconds {
        None => bounds.timeout,
        Some(seconds) if SECONDS.contains(&seconds) => Duration::from_secs(seconds),
        Some(seconds) => {
            let (least, most) = (SECONDS.start(), SECONDS.end());
            let message = format!("timeoutSeconds is {seconds}; it may be from {least} to {most}");
            return Err(problem(422, "sql.invalid.timeout", message).about("timeoutSeconds"));
        }
    };
    Ok(QueryLimits {
        timeout,
        ..bounds.clone()
    })
}

/// Writing many rows takes a while, so it is done beside the requests.
async fn file(name: &str, ran: Ran, format: Format) -> Result<Response, ApiError> {
    let truncated = ran.rows.truncated;
    let (count, took) = (ran.rows.rows.len(), ran.execution_ms);
    let write = move || export::write(&ran.rows, format, &CsvOptions::default());
    let written = tokio::task::spawn_blocking(write).await;
    let written = written.map_err(|error| problem(500, "server.defect", error.to_string()))?;
    let bytes = written.map_err(|error| problem(400, error.code(), error.to_string()))?;
    let mut response = bytes.into_response();
    let truncated = match truncated {
        None => "none",
        Some(quillet_sql::rows::Truncated::Rows) => "rows",
        Some(quillet_sql::rows::Truncated::Bytes) => "bytes",
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    headers.insert("quillet-truncated", HeaderValue::from_static(truncated));
    headers.insert("quillet-row-count", HeaderValue::from(count));
    headers.insert("quillet-execution-ms", HeaderValue::from(took));
    if let Ok(disposition) = HeaderValue::try_from(disposition(name, format)) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

fn disposition(name: &str, format: Format) -> String {
    let safe = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    let name: String = name.chars().take(60).map(safe).collect();
    format!("attachment; filename=\"{name}.{}\"", format.ending())
}
