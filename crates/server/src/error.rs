//! Errors on the wire: problem details (RFC 9457) with the members that clients of ai-prompt-shell
//! read, and the one table from [`ServiceError`] to a status.

use std::time::Duration;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use quillet_core::build;
use quillet_core::chat::{ModelError, ModelErrorKind};
use quillet_core::store::StoreErrorKind;
use quillet_core::{Diagnostic, Position, Severity};
use quillet_prompt::{ScriptFailure, ServiceError};
use quillet_template::{ErrorKind, Limit, RenderError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::{Warning, warnings};

/// The body of every error.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// `urn:quillet:error:` and the member `error`.
    #[serde(rename = "type")]
    kind: String,
    /// The status in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened, for people.
    detail: String,
    /// The status as text, as clients of ai-prompt-shell read it.
    code: String,
    /// The same as `detail`, as clients of ai-prompt-shell read it.
    message: String,
    /// Always `false`.
    success: bool,
    /// Stable code, such as `render.missing_variable`.
    error: &'static str,
    /// The request, as in the header `X-Request-Id` and in the log.
    request_id: String,
    /// Variables that the template references and nobody gave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Variables that do not fit the prompt's parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    problems: Vec<quillet_prompt::Problem>,
    /// Line of the request's body or of the template, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// Character in that line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    /// The source that `line` and `column` are in, if it is not the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Where in a query it is: line and column, both from 1. Of the routes of databases.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    position: Option<Position>,
    /// The same as `hint`. Of the routes of databases.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// Everything that is wrong with a definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    diagnostics: Vec<Diagnostic>,
    /// Tool calls that had failed before, and whose defaults stood in for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    /// The status that the model's provider answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_status: Option<u16>,
    #[serde(skip)]
    retry_after: Option<Duration>,
    /// What of the request it is about: `messages[0].role`.
    #[serde(skip)]
    param: Option<String>,
    /// What kind of failure of the model it was.
    #[serde(skip)]
    model: Option<ModelErrorKind>,
    /// The provider's own code of it.
    #[serde(skip)]
    provider_code: Option<String>,
}

/// Why a request is not answered as it wished.
#[derive(Clone, Debug)]
pub(crate) struct ApiError(Box<Problem>);

/// An error with this status, stable code and sentence.
pub(crate) fn problem(status: u16, error: &'static str, message: impl Into<String>) -> ApiError {
    let message = message.into();
    let title = StatusCode::from_u16(status)
        .ok()
        .and_then(|s| s.canonical_reason());
    ApiError(Box::new(Problem {
        kind: format!("urn:quillet:error:{error}"),
        title: title.unwrap_or("Error"),
        status,
        detail: message.clone(),
        code: status.to_string(),
        message,
        error,
        ..Problem::default()
    }))
}

impl ApiError {
    /// Says how to fix it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Says where it is in the request's body.
    pub(crate) fn at(mut self, line: usize, column: usize) -> Self {
        (self.0.line, self.0.column) = (Some(line), Some(column));
        self
    }

    /// Says where it is in the query.
    pub(crate) fn in_query(mut self, position: Option<Position>) -> Self {
        self.0.position = position;
        match position {
            Some(Position { line, column }) => {
                self.0.source = Some("sql".to_owned());
                self.at(line, column)
            }
            None => self,
        }
    }

    /// In the words of the routes of databases: `code` is the stable code, as `error` is, and
    /// `help` says what `hint` says.
    pub(crate) fn of_databases(mut self) -> Self {
        self.0.code = self.0.error.to_owned();
        self.0.help.clone_from(&self.0.hint);
        self
    }

    /// Says when to try again.
    pub(crate) fn retry_after(mut self, time: Duration) -> Self {
        self.0.retry_after = Some(time);
        self
    }

    /// Says which member of the request it is about.
    pub(crate) fn about(mut self, param: impl Into<String>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    pub(crate) fn param(&self) -> Option<&str> {
        self.0.param.as_deref()
    }

    /// The failure of the model that this reports.
    pub(crate) fn model_failure(&self) -> Option<ModelErrorKind> {
        self.0.model
    }

    /// What the model's provider said: its status, its code.
    pub(crate) fn of_provider(&self) -> (Option<u16>, Option<&str>) {
        (self.0.upstream_status, self.0.provider_code.as_deref())
    }

    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// When to try again, in whole seconds, rounded up: a client that is told 0 comes
    /// back at once.
    pub(crate) fn retry_seconds(&self) -> Option<u64> {
        let seconds = self.0.retry_after?.as_millis().div_ceil(1000);
        Some(seconds.clamp(1, 86_400) as u64)
    }

    pub(crate) fn code(&self) -> &'static str {
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

    /// The whole answer, once it is known which request it belongs to.
    pub(crate) fn into_answer(mut self, request_id: &str) -> Response {
        self.0.request_id = request_id.to_owned();
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(seconds) = self.retry_seconds() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

// Handlers do not know the request's id; the gate takes the error out of the
// extensions and writes the body.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The table: which failure has which status.
fn status(error: &ServiceError) -> u16 {
    match error {
        ServiceError::NotFound { .. } => 404,
        ServiceError::Invalid { .. }
        | ServiceError::Variables { .. }
        | ServiceError::Missing { .. }
        | ServiceError::UnknownFunctions { .. } => 400,
        ServiceError::Render(failure) => match failure.error.kind {
            ErrorKind::MissingVariable | ErrorKind::UnknownFunction | ErrorKind::StrictVariable => {
                400
            }
            ErrorKind::Limit(Limit::Time) => 503,
            ErrorKind::CallFailed | ErrorKind::Execution | ErrorKind::Limit(_) => 500,
        },
        ServiceError::Script(failure) => script_status(failure),
        ServiceError::Depth { .. } => 500,
        ServiceError::Store(error) => match error.kind {
            StoreErrorKind::Unavailable => 503,
            StoreErrorKind::Missing => 501,
            StoreErrorKind::Refused | StoreErrorKind::Configuration | StoreErrorKind::Corrupt => {
                500
            }
        },
        ServiceError::Model { error, .. } => model_status(error),
    }
}

/// Which failure of a script has which status: what the request says, what the script says, and
/// what others answer.
fn script_status(failure: &ScriptFailure) -> u16 {
    match failure.code {
        "script.input" | "script.invalid" | "script.not_found" => 400,
        "script.denied" | "MethodNotAllowed" => 403,
        "script.aborted" => 422,
        build::CODE => 501,
        "script.output" | "script.tool" => 502,
        "script.model" => failure.model.as_ref().map_or(502, model_status),
        _ => 500,
    }
}

fn model_status(error: &ModelError) -> u16 {
    match error.kind {
        ModelErrorKind::Configuration => 503,
        ModelErrorKind::Connect
        | ModelErrorKind::Timeout
        | ModelErrorKind::RateLimited
        | ModelErrorKind::Quota
        | ModelErrorKind::Overloaded
        | ModelErrorKind::Provider
        | ModelErrorKind::Auth
        | ModelErrorKind::Forbidden
        | ModelErrorKind::ModelNotFound
        | ModelErrorKind::ContextLength
        | ModelErrorKind::ContentFilter
        | ModelErrorKind::Refused
        | ModelErrorKind::MalformedToolCall
        | ModelErrorKind::Protocol
        | ModelErrorKind::Cut => 502,
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        let mut answer = problem(status(&error), error.code(), error.to_string());
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
                places,
                ..
            } => {
                let found = broken.into_iter().flat_map(|tool| tool.diagnostics);
                answer.describe(places.into_iter().chain(found).collect());
                answer.0.hint = joined(&hints).or(answer.0.hint.take());
            }
            ServiceError::Render(failure) => {
                answer.locate(failure.error);
                answer.0.warnings = warnings(&[], (&[], &[]), failure.failures);
            }
            ServiceError::Store(_) => answer.0.retry_after = Some(Duration::from_secs(1)),
            ServiceError::Model { error, failures } => {
                answer.blame(&error);
                answer.0.warnings = warnings(&[], (&[], &[]), failures);
            }
            ServiceError::Script(failure) => {
                if let Some(error) = &failure.model {
                    answer.blame(error);
                }
                answer.describe(failure.diagnostics);
            }
            ServiceError::Depth { .. } => {}
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

    /// Says what the model's provider said.
    pub(crate) fn of_model(mut self, error: &ModelError) -> Self {
        self.blame(error);
        self
    }

    fn blame(&mut self, error: &ModelError) {
        self.0.upstream_status = error.status;
        self.0.retry_after = error.retry_after;
        self.0.model = Some(error.kind);
        self.0.provider_code.clone_from(&error.provider_code);
    }
}

fn joined(hints: &[String]) -> Option<String> {
    (!hints.is_empty()).then(|| hints.join("; "))
}
