//! `POST /v1/chat/completions`.

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use quillet_llm::OpenAiChat;

use super::chat_encoder::ChatEncoder;
use super::prompt_reference::PromptReference;
use super::schema::ErrorBody;
use super::{ask, passthrough, request};
use crate::api::completion::ChatCompletion;
use crate::api::event_stream;
use crate::api::json_body;
use crate::api::reply::collect_reply;
use crate::error::ApiError;
use crate::request_context::RequestContext;

/// Creates a chat completion in OpenAI's format
///
/// `model` is the name of a model, `prompt/ID` (a stored prompt, with its `variables` in the body
/// or in `metadata`) or `agent/NAME` (a stored agent). All of OpenAI's parameters are passed on.
/// `prompt_id` selects a stored prompt in addition to the model, with `prompt_version` or
/// `prompt_label` and `prompt_variables`. With `stream` the response is a stream of chunks that
/// ends with `[DONE]`; a failed stream ends with an `error` instead.
#[utoipa::path(post, path = "/chat/completions", tag = "openai", request_body = Object, responses(
    (status = 200, body = ChatCompletion),
    (status = 400, body = ErrorBody),
    (status = 401, body = ErrorBody),
    (status = 404, body = ErrorBody, description = "Unknown model, prompt or agent"),
    (status = 429, body = ErrorBody),
    (status = 500, body = ErrorBody),
))]
pub(crate) async fn complete(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    answer(call, request.into_body()).await
}

/// Handles a body.
pub(crate) async fn answer<B>(call: RequestContext, body: B) -> Result<Response, ApiError>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let body = request::bytes(&call, body).await?;
    // Most requests from proxies can be forwarded as bytes. If forwarding is not possible, the
    // attempt has no side effects.
    if let Some(response) = passthrough::answer(&call, &body).await? {
        return Ok(response);
    }
    let mut body = request::tree(&body)?;
    let prompted = match body.as_object_mut() {
        Some(members) => PromptReference::of_chat(members)?,
        None => None,
    };
    let asked = request::read(&OpenAiChat::default(), body, prompted, "messages")?;
    let (stream, include_usage) = (asked.stream, asked.include_usage);
    let name = ask::name(&asked.request);
    let asking = ask::send_request(&call, asked).await?;
    if stream {
        let told = ChatEncoder::new(name, include_usage);
        return event_stream::answer(&call, asking, told).await;
    }
    let (mut reply, warnings) = collect_reply(&call.app, asking).await?;
    if let Some(name) = name {
        reply.model = name;
    }
    json_body(&ChatCompletion::new(reply, warnings))
}
