//! What the client library's failures mean.

use quillet_core::tool::{ToolError, ToolErrorKind};
use rmcp::service::ServiceError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::sse::SendError;
use crate::http;

/// The kind of a failure.
pub(super) fn kind(error: &ServiceError) -> ToolErrorKind {
    match error {
        ServiceError::McpError(_) => ToolErrorKind::Remote,
        ServiceError::Timeout { .. } => ToolErrorKind::Timeout,
        ServiceError::UnexpectedResponse => ToolErrorKind::Protocol,
        _ => ToolErrorKind::Transport,
    }
}

/// A failure in the words of the server, where it has some.
pub(super) fn error_text(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        other => other.to_string(),
    }
}

/// What the HTTP client said; the wrappers around it do not name it as their cause.
pub(super) fn http_failure(error: &DynamicTransportError) -> Option<ToolError> {
    if let Some(SendError(known)) = error.error.downcast_ref() {
        return Some(known.clone());
    }
    match error.error.downcast_ref()? {
        StreamableHttpError::<reqwest::Error>::Client(error) => {
            Some(http::failed(error, error.url()))
        }
        _ => None,
    }
}
