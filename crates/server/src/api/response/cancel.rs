//! Request bodies for cancellation.

use serde::Deserialize;
use utoipa::ToSchema;

/// The response to cancel.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct CancelBody {
    /// The request's `X-Request-ID`, or the id of its response.
    #[serde(default)]
    pub(super) request_id: String,
}
