//! Error responses: problem details (RFC 9457) with additional members for clients of
//! ai-prompt-shell. [`ErrorCode`] defines the status of each code.

use std::time::Duration;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use quillet_core::chat::ModelError;
use quillet_core::store::StoreErrorKind;
use quillet_core::{Diagnostic, ErrorCode, LineColumn, Severity};
use quillet_host::definitions::DefinitionError;
use quillet_prompt::ServiceError;
use quillet_template::RenderError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::warning::{Warning, warnings};

/// The body of every error.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemDetails {
    /// `urn:quillet:error:` followed by the member `error`.
    #[serde(rename = "type")]
    kind: String,
    /// The reason phrase of the status.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// The message for people.
    detail: String,
    /// The status as text, for clients of ai-prompt-shell.
    code: String,
    /// The same as `detail`, for clients of ai-prompt-shell.
    message: String,
    /// Always `false`.
    success: bool,
    /// The stable code, such as `render.missing_variable`.
    #[schema(value_type = String)]
    error: ErrorCode,
    /// The id of the request, as in the header `X-Request-Id` and in the log.
    request_id: String,
    /// Variables that the template references but the request does not provide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Variables that violate the prompt's parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    problems: Vec<quillet_prompt::VariableError>,
    /// The line in the request's body or in the template, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The character in that line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    /// The source that `line` and `column` refer to, if it is not the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The location in the query: line and column, both from 1. Only on database routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    position: Option<LineColumn>,
    /// The same as `hint`. Only on database routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// All diagnostics of a definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    diagnostics: Vec<Diagnostic>,
    /// Tool calls that failed before the error and were replaced by their fallback values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    /// The HTTP status of the model provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_status: Option<u16>,
    #[serde(skip)]
    retry_after: Option<Duration>,
    /// The member of the request that caused the error, such as `messages[0].role`.
    #[serde(skip)]
    param: Option<String>,
    /// The root cause. For a script whose model failed, this is the code of the model's failure.
    #[serde(skip)]
    cause: ErrorCode,
    /// The error code of the model provider.
    #[serde(skip)]
    provider_code: Option<String>,
}

/// An error response before it is serialized.
#[derive(Clone, Debug)]
pub(crate) struct ApiError(Box<ProblemDetails>);

/// Returns an error with this code, the status that [`ErrorCode`] defines for it, and this message.
pub(crate) fn problem(error: ErrorCode, message: impl Into<String>) -> ApiError {
    let message = message.into();
    let answer = ApiError(Box::new(ProblemDetails {
        kind: format!("urn:quillet:error:{error}"),
        title: "",
        status: 0,
        detail: message.clone(),
        code: String::new(),
        message,
        success: false,
        error,
        cause: error,
        request_id: String::new(),
        missing: Vec::new(),
        problems: Vec::new(),
        line: None,
        column: None,
        source: None,
        hint: None,
        position: None,
        help: None,
        diagnostics: Vec::new(),
        warnings: Vec::new(),
        upstream_status: None,
        retry_after: None,
        param: None,
        provider_code: None,
    }));
    answer.with_status(error.status())
}

impl ApiError {
    /// Replaces the status with that of another protocol.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        let known = StatusCode::from_u16(status).ok();
        self.0.title = known.and_then(|s| s.canonical_reason()).unwrap_or("Error");
        self.0.status = status;
        self.0.code = status.to_string();
        self
    }

    /// Replaces the status with that of the database routes.
    pub(crate) fn with_sql_status(self) -> Self {
        let status = self.0.cause.sql_status();
        self.with_status(status)
    }

    /// Sets the root cause, which determines the status, including the one in OpenAI's format.
    fn with_cause(mut self, cause: ErrorCode) -> Self {
        self.0.cause = cause;
        self.with_status(cause.status())
    }

    /// Adds the fix.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the location in the request body.
    pub(crate) fn with_location(mut self, line: usize, column: usize) -> Self {
        // Set both, because a column has no meaning without a line.
        (self.0.line, self.0.column) = (Some(line), Some(column));
        self
    }

    /// Adds the location in the query.
    pub(crate) fn with_query_position(mut self, position: Option<LineColumn>) -> Self {
        self.0.position = position;
        match position {
            Some(LineColumn { line, column }) => {
                self.0.source = Some("sql".to_owned());
                self.with_location(line, column)
            }
            None => self,
        }
    }

    /// Adapts the members for clients of databases: `code` becomes the stable code, and `help`
    /// repeats `hint`.
    pub(crate) fn for_databases(mut self) -> Self {
        self.0.code = self.0.error.to_string();
        self.0.help.clone_from(&self.0.hint);
        self
    }

    /// Adds diagnostics; the first error among them provides the location.
    pub(crate) fn with_diagnostics(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        self.describe(diagnostics);
        self
    }

    /// Sets the `Retry-After` header.
    pub(crate) fn with_retry_after(mut self, time: Duration) -> Self {
        self.0.retry_after = Some(time);
        self
    }

    /// Names the member of the request that caused the error.
    pub(crate) fn with_param(mut self, param: impl Into<String>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    pub(crate) fn param(&self) -> Option<&str> {
        self.0.param.as_deref()
    }

    /// Returns the code of the root cause.
    pub(crate) fn root_code(&self) -> ErrorCode {
        self.0.cause
    }

    /// Returns the status and the error code of the model provider.
    pub(crate) fn provider_status(&self) -> (Option<u16>, Option<&str>) {
        (self.0.upstream_status, self.0.provider_code.as_deref())
    }

    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.0.error
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    pub(crate) fn status(&self) -> u16 {
        self.0.status
    }

    pub(crate) fn is_server_side(&self) -> bool {
        self.0.status >= 500
    }

    /// Serializes the response with this request id.
    pub(crate) fn into_problem_response(mut self, request_id: &str) -> Response {
        self.0.request_id = request_id.to_owned();
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        self.set_retry_headers(&mut response);
        response
    }

    /// Sets `Retry-After` and `WWW-Authenticate`.
    pub(crate) fn set_retry_headers(&self, response: &mut Response) {
        set_retry_after(response, self.0.retry_after);
        if response.status() == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
        }
    }
}

/// Sets `Retry-After` in whole seconds, rounded up and at least 1, because clients retry
/// immediately on 0.
pub(crate) fn set_retry_after(response: &mut Response, time: Option<Duration>) {
    if let Some(time) = time {
        // The upper limit guards against absurd values from providers.
        let seconds = time.as_millis().div_ceil(1000).clamp(1, 86_400);
        let seconds = HeaderValue::from(seconds as u64);
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
}

// Handlers do not know the request id. The middleware takes the error from the extensions and
// writes the response body, which includes the request id.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        let mut answer = problem(error.code(), error.to_string()).with_cause(error.root_code());
        match error {
            ServiceError::NotFound {
                broken: Some(broken),
                ..
            } => answer.describe(broken.diagnostics),
            ServiceError::NotFound { nearest, .. } => {
                answer.0.hint = nearest.map(|near| format!("did you mean {near}?"));
            }
            ServiceError::Invalid { diagnostics, .. } => answer.describe(diagnostics),
            ServiceError::Variables { problems, .. } => answer.0.problems = problems,
            ServiceError::Missing {
                names,
                hints,
                places,
            } => {
                answer.describe(places);
                answer.0.missing = names;
                answer.0.hint = joined(&hints);
            }
            ServiceError::UnknownFunctions {
                hints,
                broken,
                missing,
                places,
                ..
            } => {
                answer.0.missing = missing.into_vec();
                let found = broken.into_iter().flat_map(|tool| tool.diagnostics);
                answer.describe(places.into_iter().chain(found).collect());
                answer.0.hint = joined(&hints).or(answer.0.hint.take());
            }
            ServiceError::Render(failure) => {
                answer.locate(failure.error);
                answer.0.warnings = warnings(&[], &[], &[], failure.failures);
            }
            ServiceError::Store(_) => answer.0.retry_after = Some(Duration::from_secs(1)),
            ServiceError::Model { error, failures } => {
                answer.copy_provider_error(&error);
                answer.0.warnings = warnings(&[], &[], &[], failures);
            }
            ServiceError::Script(failure) => {
                if let Some(error) = &failure.model {
                    answer.copy_provider_error(error);
                }
                answer.describe(failure.diagnostics);
            }
            ServiceError::Depth { .. } => {}
        }
        answer
    }
}

impl From<DefinitionError> for ApiError {
    fn from(error: DefinitionError) -> Self {
        let mut answer = problem(error.code(), error.to_string());
        match error {
            DefinitionError::Broken { diagnostics, .. } => answer.describe(diagnostics),
            DefinitionError::Store(error) if error.kind == StoreErrorKind::Unavailable => {
                answer.0.retry_after = Some(Duration::from_secs(1));
            }
            _ => {}
        }
        answer
    }
}

impl From<ModelError> for ApiError {
    fn from(error: ModelError) -> Self {
        ServiceError::from(error).into()
    }
}

impl ApiError {
    fn describe(&mut self, diagnostics: Vec<Diagnostic>) {
        let first = diagnostics
            .iter()
            .find(|found| found.severity == Severity::Error);
        if let Some(first) = first {
            self.0.line = first.position.map(|position| position.line);
            self.0.column = first.position.map(|position| position.column);
            self.0.source = Some(first.source.clone());
            self.0.hint = first.help.clone();
        }
        self.0.diagnostics = diagnostics;
    }

    fn locate(&mut self, error: RenderError) {
        self.0.line = error.position.map(|position| position.line);
        self.0.column = error.position.map(|position| position.column);
        self.0.source = Some(error.source_name).filter(|name| !name.is_empty());
        self.0.hint = error.help;
    }

    /// Copies status, code and retry time of the model provider.
    pub(crate) fn copy_provider_error(&mut self, error: &ModelError) {
        self.0.upstream_status = error.status;
        self.0.retry_after = error.retry_after;
        self.0.provider_code.clone_from(&error.provider_code);
    }
}

fn joined(hints: &[String]) -> Option<String> {
    (!hints.is_empty()).then(|| hints.join("; "))
}
