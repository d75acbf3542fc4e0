//! The OpenAPI document and a page that shows it.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Redirect, Response};

use crate::exchange::Call;

/// A page of our own without anything from elsewhere: it works offline, and a
/// ready-made viewer would be a third of the binary.
const PAGE: &str = include_str!("docs.html");

const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "operation", responses(
    (status = 200, content_type = "application/json", description = "OpenAPI 3.1"),
))]
pub(crate) async fn document(call: Call) -> Response {
    let kind = [(CONTENT_TYPE, "application/json")];
    (kind, call.app.openapi().to_owned()).into_response()
}

/// A page that lists the operations and tries them out.
#[utoipa::path(get, path = "/docs", tag = "operation", responses(
    (status = 200, content_type = "text/html", description = "The page"),
))]
pub(crate) async fn page(_call: Call) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, PAGE).into_response()
}

/// Where ai-prompt-shell had its page.
#[utoipa::path(get, path = "/swagger/index.html", tag = "operation", responses(
    (status = 308, description = "To `/docs`"),
))]
pub(crate) async fn old_page(call: Call) -> Redirect {
    Redirect::permanent(&format!("{}/docs", call.app.config.prefix))
}
