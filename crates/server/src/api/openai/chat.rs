//! `POST /v1/chat/completions`.

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use quillet_core::BoxFuture;
use quillet_core::chat::{ChatEvent, WireItem};
use quillet_llm::OpenAiChat;

use super::prompt_reference::PromptReference;
use super::schema::ErrorBody;
use super::{ask, error, passthrough, request};
use crate::api::chat::whole;
use crate::api::chunk::{Chunks, DONE, json as write_json};
use crate::api::completion::ChatCompletion;
use crate::api::event_stream::{self, EventEncoder};
use crate::api::{Warning, json};
use crate::error::ApiError;
use crate::request_context::RequestContext;

/// Chat completions, as OpenAI's clients ask for them. `model` is the name of a model,
/// `prompt/ID` (a stored prompt, with its `variables` in the body or in `metadata`) or
/// `agent/NAME` (a stored agent); all of OpenAI's parameters are passed on. `prompt_id` names a
/// stored prompt beside the model, with `prompt_version` or `prompt_label` and `prompt_variables`. With
/// `stream` the answer comes as chunks, ended by `[DONE]`; a stream that fails ends with
/// an `error` and without it.
#[utoipa::path(post, path = "/chat/completions", tag = "openai", request_body = Object, responses(
    (status = 200, body = ChatCompletion),
    (status = 400, body = ErrorBody),
    (status = 401, body = ErrorBody),
    (status = 404, body = ErrorBody, description = "No such model, prompt or agent"),
    (status = 429, body = ErrorBody),
    (status = 500, body = ErrorBody),
))]
pub(crate) async fn complete(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    answer(call, request.into_body()).await
}

/// The answer to a body.
pub(crate) async fn answer<B>(call: RequestContext, body: B) -> Result<Response, ApiError>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let body = request::bytes(&call, body).await?;
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
    let asking = ask::ask(&call, asked).await?;
    if stream {
        let told = ChatEncoder::new(name, include_usage);
        return event_stream::answer(&call, asking, told).await;
    }
    let (mut reply, warnings) = whole(&call.app, asking).await?;
    if let Some(name) = name {
        reply.model = name;
    }
    json(&ChatCompletion::new(reply, warnings))
}

/// The words of a streamed chat.
pub(super) struct ChatEncoder {
    chunks: Chunks,
    include_usage: bool,
}

impl ChatEncoder {
    pub(super) fn new(name: Option<String>, include_usage: bool) -> Self {
        let chunks = Chunks::named(name);
        ChatEncoder {
            chunks: if include_usage {
                chunks.with_usage()
            } else {
                chunks
            },
            include_usage,
        }
    }
}

/// What the provider writes in this wire's form is passed on as it is; what it says otherwise, in
/// chunks of ours.
impl EventEncoder<WireItem> for ChatEncoder {
    fn begin(&mut self, warnings: Vec<Warning>, out: &mut Vec<u8>) {
        EventEncoder::<ChatEvent>::begin(self, warnings, out);
    }

    fn event(&mut self, item: WireItem, out: &mut Vec<u8>) {
        match item {
            WireItem::Words(mut words) if out.is_empty() => std::mem::swap(out, &mut words),
            WireItem::Words(words) => out.extend_from_slice(&words),
            WireItem::Turn(told) => self.chunks.go_on(told),
            WireItem::Event(event) => self.chunks.write(event, out),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Option<BoxFuture<'static, ()>> {
        EventEncoder::<ChatEvent>::end(self, out)
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        EventEncoder::<ChatEvent>::fail(self, error, out);
    }
}

impl EventEncoder for ChatEncoder {
    fn begin(&mut self, warnings: Vec<Warning>, _: &mut Vec<u8>) {
        self.chunks.warn(warnings);
    }

    fn event(&mut self, event: ChatEvent, out: &mut Vec<u8>) {
        self.chunks.write(event, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Option<BoxFuture<'static, ()>> {
        if self.include_usage {
            self.chunks.write_usage(out);
        }
        out.extend_from_slice(DONE);
        None
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        if self.include_usage {
            self.chunks.write_usage(out);
        }
        out.extend_from_slice(b"data: ");
        write_json(&error::body(error), out);
        out.extend_from_slice(b"\n\n");
    }
}
