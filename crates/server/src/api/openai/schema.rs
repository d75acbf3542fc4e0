//! OpenAI's formats for models and errors.

use serde::Serialize;
use utoipa::ToSchema;

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What went wrong.
    pub(crate) error: ErrorObject,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Failure)]
pub(crate) struct ErrorObject {
    /// What happened and how to fix it, for people.
    pub(crate) message: String,
    /// `invalid_request_error`, `requests`, `insufficient_quota` or `server_error`.
    pub(crate) r#type: &'static str,
    /// The member of the request that it is about: `messages[0].role`.
    pub(crate) param: Option<String>,
    /// Stable code, such as `model_not_found`.
    pub(crate) code: Option<String>,
}

/// A list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelList {
    /// Always `list`.
    pub(crate) object: &'static str,
    /// What can be named as a model.
    pub(crate) data: Vec<Model>,
}

/// Something that can be named as a model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Model {
    /// The name: a model's, `prompt/ID` or `agent/NAME`.
    pub(crate) id: String,
    /// Always `model`.
    pub(crate) object: &'static str,
    /// When this server began, in seconds since 1970.
    pub(crate) created: u64,
    /// The owner: a provider, or `quillet` for prompts and agents.
    pub(crate) owned_by: String,
}
