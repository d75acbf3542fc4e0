//! Rendering a prompt and sending it to the model.

use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use futures_util::StreamExt;
use quillet_core::chat::{ChatOptions, Reply};
use quillet_core::{BoxFuture, Map, Message};
use quillet_prompt::{ChatOutcome, Input, ServiceError};
use serde::Deserialize;
use utoipa::ToSchema;

use super::body::JsonBody;
use super::completion::Completion;
use super::{Id, json, merged, stream, warnings};
use crate::app::App;
use crate::error::{ApiError, Problem, problem};
use crate::exchange::Call;

/// What a prompt is rendered with, and how the model is to answer. Besides the
/// members listed here, all of OpenAI's parameters of generation are passed on:
/// `temperature`, `top_p`, `max_tokens`, `frequency_penalty`,
/// `presence_penalty`, `stop`, `n`, `user`, `seed`, `response_format`, `tools`
/// and so on.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct ChatBody {
    /// The model; the configured one where absent.
    model: Option<String>,
    /// Variables, under `.variables` (and `.args`) in the template.
    #[schema(value_type = Option<Object>)]
    variables: Option<Map>,
    /// The deployed clients' name for the same; `variables` wins.
    #[schema(value_type = Option<Object>)]
    args: Option<Map>,
    /// The conversation so far, oldest first: messages with `role` and `content`.
    /// It stands where the template says; where it says nothing, before the last
    /// message of a user.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    history: Vec<Message>,
    /// Whether the answer comes as server-sent events.
    stream: Option<bool>,
    #[serde(flatten)]
    #[schema(ignore)]
    options: ChatOptions,
}

/// Renders a prompt, sends it to the model and answers in OpenAI's chat shape:
/// whole, or with `stream` as events whose data are chunks, ended by `[DONE]`.
/// A stream that fails ends with an `error` chunk and without `[DONE]`.
#[utoipa::path(post, path = "/chat/prompts/{id}", tag = "prompts", params(("id" = String, Path)),
    request_body = ChatBody, responses(
    (status = 200, body = Completion),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 404, body = Problem, content_type = "application/problem+json", description = "No such prompt"),
    (status = 500, body = Problem, content_type = "application/problem+json"),
    (status = 502, body = Problem, content_type = "application/problem+json", description = "The model did not answer, after the retries"),
    (status = 503, body = Problem, content_type = "application/problem+json", description = "A limit on time was reached, or no model is configured"),
))]
pub(crate) async fn chat_prompt(
    call: Call,
    Id(id): Id,
    JsonBody(body): JsonBody<ChatBody>,
) -> Result<Response, ApiError> {
    if body.options.extra.contains_key("messages") {
        return Err(problem(
            400,
            "request.body",
            "the messages come from the prompt, so the body cannot have any",
        )
        .hint("give the prompt what it needs in \"variables\""));
    }
    let is_streamed = body.stream == Some(true);
    let asking = ask(&call, id, body);
    match is_streamed {
        true => stream::answer(&call, asking).await,
        false => whole(&call.app, asking).await,
    }
}

/// The same at the deployed origin's address.
#[utoipa::path(post, path = "/prompts/{id}/chat", tag = "prompts", params(("id" = String, Path)),
    request_body = ChatBody, responses(
    (status = 200, body = Completion),
    (status = 400, body = Problem, content_type = "application/problem+json"),
    (status = 404, body = Problem, content_type = "application/problem+json"),
    (status = 500, body = Problem, content_type = "application/problem+json"),
    (status = 502, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn chat_prompt_alias(
    call: Call,
    id: Id,
    body: JsonBody<ChatBody>,
) -> Result<Response, ApiError> {
    chat_prompt(call, id, body).await
}

/// A question on its way. Dropping it ends the call to the model.
pub(crate) type Asking = BoxFuture<'static, Result<ChatOutcome, ServiceError>>;

fn ask(call: &Call, id: String, body: ChatBody) -> Asking {
    let (app, exchange) = (Arc::clone(&call.app), Arc::clone(&call.exchange));
    Box::pin(async move {
        let variables = merged(body.variables.as_ref(), body.args.as_ref());
        let started = Instant::now();
        let input = Input {
            variables: &variables,
            history: &body.history,
            request_id: exchange.id(),
        };
        let asked = app.service.chat(&id, &input, body.model, body.options);
        let outcome = asked.await?;
        app.metrics.model.record(started.elapsed());
        for failure in &outcome.failures {
            app.metrics.tool_failures.count(failure.code);
        }
        Ok(outcome)
    })
}

async fn whole(app: &App, asking: Asking) -> Result<Response, ApiError> {
    let folding = async {
        let mut outcome = asking.await?;
        let mut reply = Reply::default();
        while let Some(event) = outcome.stream.next().await {
            reply.fold(event?);
        }
        Ok::<_, ApiError>(Completion::new(reply, warnings(outcome.failures)))
    };
    match tokio::time::timeout(app.config.chat_time, folding).await {
        Ok(completion) => json(&completion?),
        Err(_) => {
            let message = format!(
                "the chat took longer than the limit on chat_time ({:?})",
                app.config.chat_time
            );
            Err(problem(503, "chat.timeout", message).hint("ask for a stream"))
        }
    }
}
