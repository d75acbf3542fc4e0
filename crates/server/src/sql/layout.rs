//! The route that formats queries.

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_sql::{SqlDialect, SqlError, layout};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::json_body;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::RequiredJson;
use crate::request_context::RequestContext;

/// A query to format.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FormatBody {
    /// One or several queries.
    sql: String,
    /// `postgresql` (the default), `mysql` or `sqlite`.
    dialect: Option<String>,
}

/// A formatted query.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Formatted)]
pub(crate) struct FormatResponse {
    /// The query with each clause on a separate line.
    formatted: String,
}

/// Formats a query: clauses on separate lines, comments and literals unchanged
///
/// No database is needed.
#[utoipa::path(post, path = "/dbs/format", operation_id = "format_query", tag = "databases",
    request_body = FormatBody, responses(
    (status = 200, body = FormatResponse),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "A string or a comment is not terminated"),
    (status = 422, body = ProblemDetails, content_type = "application/problem+json", description = "Invalid body"),
))]
pub(crate) async fn format(
    _call: RequestContext,
    RequiredJson(body): RequiredJson<FormatBody>,
) -> Result<Response, ApiError> {
    let dialect = dialect(body.dialect.as_deref())?;
    let formatted = layout::format(&body.sql, dialect);
    // Return the same error as for running a query, so that editors receive the position.
    let formatted = formatted.map_err(|error| SqlError::from_rejected_query(error, &body.sql))?;
    json_body(&FormatResponse { formatted })
}

fn dialect(name: Option<&str>) -> Result<SqlDialect, ApiError> {
    let name = name.unwrap_or(SqlDialect::PostgreSql.name());
    SqlDialect::from_name(name).ok_or_else(|| {
        let known = SqlDialect::ALL.map(SqlDialect::name).join(", ");
        let message = format!("unknown dialect {name:?}: expected one of {known}");
        problem(ErrorCode::SqlInvalidDialect, message).with_param("dialect")
    })
}
