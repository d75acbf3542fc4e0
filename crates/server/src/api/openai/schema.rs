//! OpenAI's formats for models and errors.

use serde::Serialize;
use utoipa::ToSchema;

/// The body of an error response.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// The error.
    pub(crate) error: ErrorObject,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Failure)]
pub(crate) struct ErrorObject {
    /// A description for people of the error and its fix.
    pub(crate) message: String,
    /// `invalid_request_error`, `requests`, `insufficient_quota` or `server_error`.
    pub(crate) r#type: &'static str,
    /// The invalid member of the request, such as `messages[0].role`.
    pub(crate) param: Option<String>,
    /// Stable code, such as `model_not_found`.
    pub(crate) code: Option<String>,
}

/// A list of models.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelList {
    /// Always `list`.
    pub(crate) object: &'static str,
    /// The valid model names.
    pub(crate) data: Vec<Model>,
}

/// A valid model name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Model {
    /// The name of a model, `prompt/ID` or `agent/NAME`.
    pub(crate) id: String,
    /// Always `model`.
    pub(crate) object: &'static str,
    /// The start time of this server, in seconds since 1970.
    pub(crate) created: u64,
    /// The owner: a provider, or `quillet` for prompts and agents.
    pub(crate) owned_by: String,
}
