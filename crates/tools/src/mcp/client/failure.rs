//! Interpretation of the client library's errors.

use quillet_core::tool::{ToolError, ToolErrorKind};
use rmcp::service::ServiceError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::sse::SendError;
use crate::http;

/// Kind of a failed call.
pub(super) fn kind(error: &ServiceError) -> ToolErrorKind {
    match error {
        ServiceError::McpError(_) => ToolErrorKind::Remote,
        ServiceError::Timeout { .. } => ToolErrorKind::Timeout,
        ServiceError::UnexpectedResponse => ToolErrorKind::Protocol,
        _ => ToolErrorKind::Transport,
    }
}

/// The server's error message if there is one, otherwise the library's.
pub(super) fn error_text(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        other => other.to_string(),
    }
}

/// The error of the HTTP client inside a transport error, whose wrappers do not return it as their
/// source.
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
