//! Running a query: rows as JSON, or as a file.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_sql::export::{AsNamed, Format};
use quillet_sql::{QueryLimits, Ran, RunOptions, SqlConfig};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::file::{Asked, file, takes_trailers};
use super::served::{count, databases};
use crate::api::{Id, json};
use crate::error::{ApiError, Problem, problem};
use crate::exchange::Call;
use crate::given::{Body, Params};

/// Times that a request may ask for, in seconds.
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
    /// `json`, `ndjson`, `csv`, `arrow`, `parquet`, …; wins over the header `Accept`.
    format: Option<String>,
}

/// A query that ran.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer<'a> {
    /// The query as it ran.
    pub(super) sql: &'a str,
    /// `columns` (the keys of the rows), `columnInfo` (name and type of each), `rows` as objects,
    /// `rowCount`, `truncated`.
    #[schema(value_type = Object)]
    pub(super) result: AsNamed<'a>,
    /// How long the database took, in milliseconds.
    pub(super) execution_time_ms: u64,
}

impl<'a> Answer<'a> {
    pub(super) fn new(ran: &'a Ran) -> Self {
        Answer {
            sql: &ran.sql,
            result: AsNamed(&ran.rows),
            execution_time_ms: ran.execution_ms,
        }
    }
}

/// Runs one statement that reads, under the guard. With `format`, or an `Accept` that names
/// one of the forms, the answer is a file with more rows than the JSON answer has. The field
/// `Quillet-Truncated` says whether rows are missing: a header of a short file, a trailer of a
/// long one, which is sent while the database is read and is cut off if that fails.
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
    if let Some(format) = format {
        let asked = Asked {
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
    json(&Answer::new(&ran))
}

/// The form that is asked for; `None` for the JSON of the API.
fn format(wanted: &Wanted, headers: &HeaderMap) -> Result<Option<Format>, ApiError> {
    let named = match &wanted.format {
        Some(name) => Some(
            name.parse::<Format>()
                .map_err(|error| problem(error.code(), error.to_string()))?,
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
            return Err(problem(ErrorCode::SqlInvalidTimeout, message).about("timeoutSeconds"));
        }
    };
    Ok(QueryLimits {
        timeout,
        ..bounds.clone()
    })
}
