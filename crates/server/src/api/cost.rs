//! The route that computes the cost of a response.

use axum::response::Response;
use quillet_core::chat::Usage;
use quillet_llm::models::ModelFacts;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::JsonBody;
use super::json_body;
use crate::error::{ApiError, ProblemDetails};
use crate::request_context::RequestContext;

/// An answer of a model.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct CostBody {
    /// The model, by any of its names.
    model: String,
    /// The usage that the provider reported, in OpenAI's format.
    usage: TokenUsage,
}

/// Tokens of an answer.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = AnswerTokens)]
pub(crate) struct TokenUsage {
    /// Of the request, cached ones included.
    #[serde(default)]
    prompt_tokens: u64,
    /// Of the answer, reasoning included.
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<PromptTokensDetails>,
}

/// Parts of the tokens of a request.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[schema(as = AnswerTokensCached)]
pub(crate) struct PromptTokensDetails {
    /// Read from the provider's cache.
    #[serde(default)]
    cached_tokens: u64,
    /// Written to the provider's cache.
    #[serde(default)]
    cache_write_tokens: u64,
}

/// What it cost.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Cost {
    /// The model that was asked about.
    model: String,
    /// In US dollars; absent if the price is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

/// Returns the cost of a response, by this server's table of models
#[utoipa::path(post, path = "/cost", tag = "prompts", request_body = CostBody, responses(
    (status = 200, body = Cost),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn cost(
    call: RequestContext,
    JsonBody(body): JsonBody<CostBody>,
) -> Result<Response, ApiError> {
    let CostBody { model, usage } = body;
    let cached = usage.prompt_tokens_details.unwrap_or_default();
    let usage = Usage {
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens,
        cache_read_tokens: cached.cached_tokens,
        cache_write_tokens: cached.cache_write_tokens,
        ..Usage::default()
    };
    let cost_usd = match &call.app.agents {
        // The router knows configured prices and names; without it only the built-in table is left.
        Some(agents) => agents.parts().models.cost(&model, &usage, 1),
        None => ModelFacts::built_in().find(&model).cost(&usage),
    };
    json_body(&Cost { model, cost_usd })
}
