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

/// A response of a model.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct CostBody {
    /// The model, by any of its names.
    model: String,
    /// The usage reported by the provider, in OpenAI's format.
    usage: TokenUsage,
}

/// Tokens of a response.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = AnswerTokens)]
pub(crate) struct TokenUsage {
    /// Tokens of the request, including cached ones.
    #[serde(default)]
    prompt_tokens: u64,
    /// Tokens of the response, including reasoning.
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<PromptTokensDetails>,
}

/// Details of the tokens of a request.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[schema(as = AnswerTokensCached)]
pub(crate) struct PromptTokensDetails {
    /// Tokens read from the provider's cache.
    #[serde(default)]
    cached_tokens: u64,
    /// Tokens written to the provider's cache.
    #[serde(default)]
    cache_write_tokens: u64,
}

/// The cost of a response.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Cost {
    /// The model in the request.
    model: String,
    /// The cost in US dollars, absent if the price is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

/// Returns the cost of a response according to this server's model table
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
        // The router has the configured prices and names. Without it, use the built-in table.
        Some(agents) => agents.parts().models.cost(&model, &usage, 1),
        None => ModelFacts::built_in().find(&model).cost(&usage),
    };
    json_body(&Cost { model, cost_usd })
}
