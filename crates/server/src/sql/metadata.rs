//! Routes for the catalogue of a database, which contains schemas, tables and columns.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use quillet_core::ErrorCode;
use quillet_sql::{Catalogue, SqlError};
use serde::Deserialize;
use utoipa::IntoParams;

use super::pieces::{self, Detail};
use super::served::databases;
use crate::api::{Id, json_body};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::{QueryParams, is_on};
use crate::request_context::RequestContext;

/// Query parameters of a catalogue.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RefreshQuery {
    /// `true` reads the database again. Otherwise the stored catalogue is used while the database
    /// reports no changes.
    refresh: Option<String>,
}

/// Returns schemas and all tables with their columns and keys
///
/// Returns `304` for a matching `If-None-Match`, and gzip if the client accepts it.
#[utoipa::path(get, path = "/dbs/{name}/metadata", operation_id = "get_metadata", tag = "databases",
    params(("name" = String, Path), RefreshQuery), responses(
    (status = 200, body = Object, description = "name, dbType, version, schemas, lastRefreshed, tables"),
    (status = 304, description = "Nothing has changed"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The database cannot be reached"),
))]
pub(crate) async fn all(
    call: RequestContext,
    Id(name): Id,
    QueryParams(asked): QueryParams<RefreshQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let catalogue = read(&call, &name, is_on(asked.refresh.as_deref())).await?;
    Ok(answer(&name, catalogue, Detail::Full, &headers))
}

/// Reads the catalogue again and returns it like `GET …/metadata`
#[utoipa::path(post, path = "/dbs/{name}/metadata/refresh", operation_id = "refresh_metadata", tag = "databases",
    params(("name" = String, Path)), responses(
    (status = 200, body = Object),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The database cannot be reached"),
))]
pub(crate) async fn refresh(
    call: RequestContext,
    Id(name): Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let catalogue = read(&call, &name, true).await?;
    Ok(answer(&name, catalogue, Detail::Full, &headers))
}

/// Returns schemas, and the name, type and comment of each table
#[utoipa::path(get, path = "/dbs/{name}/metadata/tables", operation_id = "list_tables", tag = "databases",
    params(("name" = String, Path), RefreshQuery), responses(
    (status = 200, body = Object),
    (status = 304, description = "Nothing has changed"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The database cannot be reached"),
))]
pub(crate) async fn tables(
    call: RequestContext,
    Id(name): Id,
    QueryParams(asked): QueryParams<RefreshQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let catalogue = read(&call, &name, is_on(asked.refresh.as_deref())).await?;
    Ok(answer(&name, catalogue, Detail::Summary, &headers))
}

/// A table in a path.
#[derive(Debug)]
pub(crate) struct InPath {
    name: String,
    schema: String,
    table: String,
}

impl<S: Send + Sync> FromRequestParts<S> for InPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<(String, String, String)>::from_request_parts(parts, state).await {
            Ok(Path((name, schema, table))) => Ok(InPath {
                name,
                schema,
                table,
            }),
            Err(_) => Err(
                problem(ErrorCode::RequestPath, "a name in the path is not UTF-8")
                    .with_hint("percent-encode it"),
            ),
        }
    }
}

/// Returns a table with its columns, keys and comments
#[utoipa::path(get, path = "/dbs/{name}/metadata/tables/{schema}/{table}", operation_id = "get_table", tag = "databases",
    params(("name" = String, Path), ("schema" = String, Path), ("table" = String, Path)), responses(
    (status = 200, body = Object),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The database cannot be reached"),
))]
pub(crate) async fn table(call: RequestContext, asked: InPath) -> Result<Response, ApiError> {
    let catalogue = read(&call, &asked.name, false).await?;
    match catalogue.resolve(Some(&asked.schema), &asked.table) {
        Some(table) => json_body(table),
        None => Err(ApiError::from(SqlError::NotFound {
            what: "table",
            name: format!("{}.{}", asked.schema, asked.table),
            nearest: catalogue.nearest(&asked.table),
        })),
    }
}

async fn read(
    call: &RequestContext,
    name: &str,
    refresh: bool,
) -> Result<Arc<Catalogue>, ApiError> {
    let read = databases(call)?.catalogue(name, refresh, &|_, _, _| {});
    Ok(read.await?)
}

fn answer(name: &str, catalogue: Arc<Catalogue>, detail: Detail, asked: &HeaderMap) -> Response {
    let tag = tag(&catalogue);
    let known = tag.as_ref().is_some_and(|tag| knows(asked, tag));
    let gzip = accepts_gzip(asked);
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        pieces::body(name, catalogue, detail, gzip).into_response()
    };
    let headers = response.headers_mut();
    let mut say = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    // Clients may store the catalogue but must revalidate it: the database can change at any time.
    say(CACHE_CONTROL, "private, no-cache");
    say(VARY, "accept-encoding");
    if !known {
        say(CONTENT_TYPE, "application/json");
        if gzip {
            say(CONTENT_ENCODING, "gzip");
        }
    }
    if let Some(tag) = tag {
        headers.insert(ETAG, tag);
    }
    response
}

/// Returns a weak tag, because it is the same for the compressed body.
fn tag(catalogue: &Catalogue) -> Option<HeaderValue> {
    let plain = |c: &char| c.is_ascii_alphanumeric();
    let fingerprint: String = catalogue
        .fingerprint
        .chars()
        .filter(plain)
        .take(64)
        .collect();
    let read = catalogue.last_refreshed.as_millisecond();
    HeaderValue::try_from(format!("W/\"{fingerprint}-{read:x}\"")).ok()
}

fn knows(asked: &HeaderMap, tag: &HeaderValue) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let (Some(given), Ok(tag)) = (asked.get(IF_NONE_MATCH), tag.to_str()) else {
        return false;
    };
    let given = given.to_str().unwrap_or_default();
    given.trim() == "*" || given.split(',').any(|given| bare(given) == bare(tag))
}

fn accepts_gzip(asked: &HeaderMap) -> bool {
    let given = asked.get(ACCEPT_ENCODING).and_then(|v| v.to_str().ok());
    given.unwrap_or_default().split(',').any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight: String = weight.split_whitespace().collect();
        let refused = weight
            .strip_prefix("q=")
            .and_then(|q| q.parse::<f32>().ok())
            == Some(0.0);
        matches!(name.trim(), "gzip" | "x-gzip" | "*") && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_for_whoever_accepts_it() {
        for (given, accepted) in [
            ("gzip", true),
            ("br, gzip;q=0.8", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0, br", false),
            ("identity", false),
            ("", false),
        ] {
            let headers = [(ACCEPT_ENCODING, HeaderValue::from_static(given))];
            let headers: HeaderMap = headers.into_iter().collect();
            assert_eq!(accepts_gzip(&headers), accepted, "{given}");
        }
    }
}
