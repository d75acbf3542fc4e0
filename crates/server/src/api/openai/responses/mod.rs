//! `POST /v1/responses` and stored responses.
//!
//! A response is stored as a session: the conversation up to the reply, followed by the response
//! object that the client received. So a response remains usable after an earlier one is deleted.

mod events;
mod items;
mod native;
mod object;
mod options;
mod recorder;

use axum::extract::Request;
use axum::response::Response;
use futures_util::StreamExt;
use quillet_llm::OpenAiResponses;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use self::events::ResponsesEncoder;
use self::object::ResponseObject;
use self::options::ResponseOptions;
use self::recorder::ResponseRecorder;
use super::request::ParsedRequest;
use super::schema::ErrorBody;
use super::{ask, request};
use crate::api::event_stream::{self, EventEncoder, PendingReply};
use crate::api::reply::with_chat_timeout;
use crate::api::{Id, json_body};
use crate::error::ApiError;
use crate::request_context::RequestContext;

/// Creates a response in OpenAI's format
///
/// `model` has the same form as in chat completions. `prompt` selects a stored prompt, with its
/// `version` and `variables`, and makes `model` optional. With `stream` the events run from
/// `response.created` to `response.completed`, `response.incomplete` or `response.failed`. Unless
/// `store` is false the response is stored, and another one continues it by `previous_response_id`.
#[utoipa::path(post, path = "/responses", tag = "openai", request_body = Object, responses(
    (status = 200, body = Object),
    (status = 400, body = ErrorBody),
    (status = 401, body = ErrorBody),
    (status = 404, body = ErrorBody, description = "Unknown model, prompt, agent or previous response"),
    (status = 429, body = ErrorBody),
    (status = 500, body = ErrorBody),
))]
pub(crate) async fn create_response(
    call: RequestContext,
    request: Request,
) -> Result<Response, ApiError> {
    let mut body = request::json(&call, request.into_body()).await?;
    let (wish, prompted) = ResponseOptions::take(&mut body)?;
    let mut asked = request::read(&OpenAiResponses, body, prompted, "input")?;
    native::read_back(&mut asked.request.messages)?;
    let mut keeper = ResponseRecorder::new(&call, &wish);
    load_previous(&mut asked, &wish, &mut keeper).await?;
    let stream = asked.stream;
    let object = ResponseObject::new(&wish, ask::name(&asked.request).is_some(), keeper.is_on());
    let teller = ResponsesEncoder::new(object, wish.with_native, keeper);
    let asking = ask::send_request(&call, asked).await?;
    if stream {
        return event_stream::answer(&call, asking, teller).await;
    }
    let answer = with_chat_timeout(&call.app, collect_response(asking, teller)).await?;
    json_body(&answer)
}

/// Inserts the previous conversation between the instructions and the new input, and returns the
/// part to store. Instructions apply to one response only, so they are not stored.
async fn load_previous(
    asked: &mut ParsedRequest,
    wish: &ResponseOptions,
    keeper: &mut ResponseRecorder,
) -> Result<(), ApiError> {
    let messages = &mut asked.request.messages;
    // OpenAI does not apply instructions of an earlier response to the next one.
    let first = usize::from(wish.has_instructions).min(messages.len());
    if let Some(previous) = &wish.previous {
        let earlier = keeper.load_conversation(previous).await?;
        messages.splice(first..first, earlier);
    }
    keeper.set_messages(messages.get(first..).unwrap_or_default());
    Ok(())
}

async fn collect_response(
    asking: PendingReply,
    mut teller: ResponsesEncoder,
) -> Result<Value, ApiError> {
    let mut answer = asking.await?;
    let mut unsent = Vec::new();
    while let Some(event) = answer.stream.next().await {
        teller.event(event?, &mut unsent);
        unsent.clear();
    }
    if let Some(keeping) = teller.end(&mut unsent) {
        keeping.await;
    }
    Ok(teller.into_object())
}

/// Returns a stored response
#[utoipa::path(get, path = "/responses/{id}", tag = "openai", params(("id" = String, Path)), responses(
    (status = 200, body = Object),
    (status = 404, body = ErrorBody, description = "Unknown response"),
))]
pub(crate) async fn retrieve_response(
    call: RequestContext,
    Id(id): Id,
) -> Result<Response, ApiError> {
    json_body(&recorder::find(&call, &id).await?)
}

/// The result of a deletion.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Deleted)]
pub(crate) struct DeleteResponse {
    /// The id of the response.
    id: String,
    /// Always `response`.
    object: &'static str,
    /// Always `true`.
    deleted: bool,
}

/// Deletes a response
#[utoipa::path(delete, path = "/responses/{id}", tag = "openai", params(("id" = String, Path)), responses(
    (status = 200, body = DeleteResponse),
    (status = 404, body = ErrorBody, description = "Unknown response"),
))]
pub(crate) async fn delete_response(
    call: RequestContext,
    Id(id): Id,
) -> Result<Response, ApiError> {
    recorder::forget(&call, &id).await?;
    json_body(&DeleteResponse {
        id,
        object: "response",
        deleted: true,
    })
}
