//! The history of queries.

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::archive::{QueryPage, QueryRecord};
use quillet_sql::Databases;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::connections::require_changes_allowed;
use super::served::databases;
use crate::api::{Id, json_body};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// The maximum number of records per page, as in table-chat.
const MOST: usize = 100;
/// The default number of records per page, as in table-chat.
const USUAL: usize = 20;

/// Query parameters of the history.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryQuery {
    /// Records per page, from 1 to 100. Default: 20.
    limit: Option<usize>,
    /// Only older records: the `nextCursor` of the previous page, or a time
    /// (`2026-11-22T13:45:00Z`).
    before: Option<String>,
}

/// Query parameters of a search.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// Search words. The query or its question contains all of them.
    query: Option<String>,
    /// Records per page, from 1 to 100. Default: 20.
    limit: Option<usize>,
}

/// An executed query.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Item)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryItem {
    /// The number of the record. Later records have higher numbers.
    id: u64,
    /// The name of the database.
    db_name: String,
    /// The executed query.
    sql_content: String,
    /// The question that the query answers.
    natural_query: Option<String>,
    /// The number of returned rows.
    row_count: u64,
    /// The execution time in the database, in milliseconds.
    execution_time_ms: u64,
    /// The time of execution.
    #[schema(value_type = String)]
    executed_at: jiff::Timestamp,
    /// Whether the query was accepted as the answer to its question.
    accepted: bool,
}

/// A page of records, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = History)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryPage {
    items: Vec<HistoryItem>,
    /// The total number of records.
    total: u64,
    /// Whether older records exist.
    has_more: bool,
    /// The value of `before` for the next page.
    next_cursor: Option<String>,
}

/// Lists executed queries, newest first
#[utoipa::path(get, path = "/dbs/{name}/history", operation_id = "list_history", tag = "databases",
    params(("name" = String, Path), HistoryQuery), responses(
    (status = 200, body = HistoryPage),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    call: RequestContext,
    Id(name): Id,
    QueryParams(page): QueryParams<HistoryQuery>,
) -> Result<Response, ApiError> {
    let limit = limit(page.limit)?;
    let databases = databases(&call)?;
    let before = match page.before.as_deref().map(cursor).transpose()? {
        None => None,
        Some(Cursor::Number(number)) => Some(number),
        Some(Cursor::Time(time)) => Some(number_at(databases, &name, time).await?),
    };
    json_body(&shown(databases.history(&name, before, limit).await?))
}

/// Searches executed queries whose text or question contains all words, newest first
#[utoipa::path(get, path = "/dbs/{name}/history/search", operation_id = "search_history", tag = "databases",
    params(("name" = String, Path), SearchQuery), responses(
    (status = 200, body = HistoryPage),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn search(
    call: RequestContext,
    Id(name): Id,
    QueryParams(search): QueryParams<SearchQuery>,
) -> Result<Response, ApiError> {
    let limit = limit(search.limit)?;
    let words = search.query.unwrap_or_default();
    if words.trim().is_empty() {
        let message = "query must not be empty: send the words to search for";
        return Err(problem(ErrorCode::SqlInvalidQuery, message).with_param("query"));
    }
    let page = databases(&call)?
        .search_history(&name, &words, limit)
        .await?;
    // A search has only one page. More words narrow the result.
    json_body(&HistoryPage {
        next_cursor: None,
        ..shown(page)
    })
}

/// Accepts a query as the answer to its question, so that it is an example for similar questions
#[utoipa::path(post, path = "/dbs/{name}/history/{id}/accept", operation_id = "accept_query", tag = "databases",
    params(("name" = String, Path), ("id" = u64, Path)), responses(
    (status = 200, body = HistoryItem),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "The query was run without a question, or the path has no valid query number"),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "Clients cannot change connections or their examples on this server"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn accept(call: RequestContext, asked: InPath) -> Result<Response, ApiError> {
    require_changes_allowed(&call)?;
    let accepted = databases(&call)?.accept(&asked.name, asked.id).await?;
    json_body(&item(accepted))
}

/// Withdraws the acceptance of a query
#[utoipa::path(delete, path = "/dbs/{name}/history/{id}/accept", operation_id = "unaccept_query", tag = "databases",
    params(("name" = String, Path), ("id" = u64, Path)), responses(
    (status = 204, description = "The query is not an example, whether it was one before or not"),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "The path has no valid query number"),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "Clients cannot change connections or their examples on this server"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn unaccept(call: RequestContext, asked: InPath) -> Result<StatusCode, ApiError> {
    require_changes_allowed(&call)?;
    databases(&call)?.unaccept(&asked.name, asked.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The record that a path selects.
#[derive(Debug)]
pub(crate) struct InPath {
    name: String,
    id: u64,
}

impl<S: Send + Sync> FromRequestParts<S> for InPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<(String, u64)>::from_request_parts(parts, state).await {
            Ok(Path((name, id))) => Ok(InPath { name, id }),
            Err(_) => Err(problem(
                ErrorCode::RequestPath,
                "invalid path: expected a database and the number of a query in its history",
            )),
        }
    }
}

fn limit(given: Option<usize>) -> Result<usize, ApiError> {
    match given.unwrap_or(USUAL) {
        limit @ 1..=MOST => Ok(limit),
        limit => {
            let message = format!("invalid limit {limit}: expected 1 to {MOST}");
            Err(problem(ErrorCode::SqlInvalidLimit, message).with_param("limit"))
        }
    }
}

/// The beginning of a page.
enum Cursor {
    Number(u64),
    Time(jiff::Timestamp),
}

fn cursor(text: &str) -> Result<Cursor, ApiError> {
    if let Ok(number) = text.parse() {
        return Ok(Cursor::Number(number));
    }
    // The `+` of an offset is decoded as a space if it was not percent-encoded. A time without an
    // offset is UTC, like all times here.
    let time = text.replace(' ', "+").parse();
    let time = time.or_else(|error| match text.parse::<jiff::civil::DateTime>() {
        Ok(time) => time
            .to_zoned(jiff::tz::TimeZone::UTC)
            .map(|it| it.timestamp()),
        Err(_) => Err(error),
    });
    time.map(Cursor::Time).map_err(|_| {
        let message =
            "invalid before: expected a nextCursor or a time such as 2026-11-22T13:45:00Z";
        problem(ErrorCode::SqlInvalidBefore, message).with_param("before")
    })
}

/// Returns the lowest number for which all records below it ran before a time. Numbers increase
/// with time, so this is a binary search.
async fn number_at(
    databases: &Databases,
    name: &str,
    time: jiff::Timestamp,
) -> Result<u64, ApiError> {
    let time = u64::try_from(time.as_millisecond()).unwrap_or(0);
    let newest = async |before| {
        let page = databases.history(name, before, 1).await?;
        Ok::<_, ApiError>(page.items.into_iter().next())
    };
    let Some(last) = newest(None).await? else {
        return Ok(0);
    };
    // Records below `low` are older than the time, and records from `high` on are not.
    let (mut low, mut high) = (0, last.id.saturating_add(1));
    while low < high {
        // The store can select a page by number but not by time.
        let middle = low + (high - low) / 2;
        match newest(Some(middle.saturating_add(1))).await? {
            Some(record) if record.executed_at >= time => high = record.id,
            _ => low = middle + 1,
        }
    }
    Ok(low)
}

fn shown(page: QueryPage) -> HistoryPage {
    let next_cursor = page.items.last().map(|last| last.id.to_string());
    HistoryPage {
        next_cursor: next_cursor.filter(|_| page.more),
        items: page.items.into_iter().map(item).collect(),
        total: page.total,
        has_more: page.more,
    }
}

fn item(record: QueryRecord) -> HistoryItem {
    let millisecond = i64::try_from(record.executed_at).unwrap_or(i64::MAX);
    HistoryItem {
        id: record.id,
        db_name: record.database,
        sql_content: record.sql,
        natural_query: record.question,
        row_count: record.row_count,
        execution_time_ms: record.execution_ms,
        executed_at: jiff::Timestamp::from_millisecond(millisecond).unwrap_or_default(),
        accepted: record.accepted,
    }
}
