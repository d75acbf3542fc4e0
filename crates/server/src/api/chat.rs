//! Renders prompts and sends them to the model.

use std::sync::{Arc, OnceLock};

use axum::response::Response;
use quillet_core::chat::{ChatEvent, ChatOptions, ChatRequest};
use quillet_core::store::EntryKind;
use quillet_core::{BoxFuture, ErrorCode, Map, Message};
use quillet_host::definitions::Permission;
use quillet_prompt::{
    CatalogueSnapshot, Explanation, InlinePrompt, RenderInput, ScriptJob, ServiceError,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::body::JsonBody;
use super::chunk::{Chunks, DONE};
use super::completion::ChatCompletion;
use super::event_stream::{self, EventEncoder, PendingReply, StreamingReply};
use super::render::{RenderParams, inline_disabled};
use super::reply::{collect_reply, write_failure};
use super::{Id, json_body as answer_json, merged, traced};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::{Exchange, RequestContext};
use crate::revision::{MinRevision, RevisionPreconditions, of_prompt, set_version_headers};
use crate::warning::{Warning, refused_parameters, warnings};

/// Variables of a prompt and options of the model. In addition to the members listed here, all of
/// OpenAI's generation parameters are passed on: `temperature`, `top_p`, `max_tokens`,
/// `frequency_penalty`, `presence_penalty`, `stop`, `n`, `user`, `seed`, `response_format`, `tools`
/// and so on.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct ChatBody {
    /// The model. Default: the configured one.
    model: Option<String>,
    /// The variables, available as `.variables` and `.args` in the template.
    #[schema(value_type = Option<Object>)]
    variables: Option<Map>,
    /// ai-prompt-shell's name for `variables`, which takes precedence.
    #[schema(value_type = Option<Object>)]
    args: Option<Map>,
    /// The conversation so far, oldest first: messages with `role` and `content`. It is inserted at
    /// the template's placeholder, or before the last user message if the template has no
    /// placeholder.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    history: Vec<Message>,
    /// Whether the response is a stream of server-sent events.
    stream: Option<bool>,
    /// Whether the response includes an explanation of the prompt. `?explain=true` has the same
    /// effect.
    explain: Option<bool>,
    /// Optional features.
    #[serde(default)]
    features: ChatFeatures,
    /// For a durable run: patterns of tools whose calls need approval.
    #[serde(default)]
    ask: Vec<String>,
    /// The conversation id, for weighted labels by `session`. Weighted labels by `user` use
    /// OpenAI's `user`.
    session: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    options: ChatOptions,
}

/// Renders a prompt, sends it to the model and returns a chat completion in OpenAI's format
///
/// With `stream` the response is a stream of chunks that ends with `[DONE]`. A failed stream ends
/// with an `error` chunk and without `[DONE]`.
#[utoipa::path(post, path = "/chat/prompts/{id}", tag = "prompts", params(("id" = String, Path), RenderParams, MinRevision),
    request_body = ChatBody, responses(
    (status = 200, body = ChatCompletion),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json", description = "Unknown prompt"),
    (status = 500, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 502, body = ProblemDetails, content_type = "application/problem+json", description = "The model did not answer after all retries"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "A timeout was reached, or no model is configured"),
))]
pub(crate) async fn chat_prompt(
    call: RequestContext,
    wanted: RevisionPreconditions,
    Id(id): Id,
    QueryParams(asked): QueryParams<RenderParams>,
    JsonBody(mut body): JsonBody<ChatBody>,
) -> Result<Response, ApiError> {
    body.explain = Some(asked.is_explained(body.explain));
    // Ignoring messages silently would hide a mistake of the client.
    body.refuse_messages()?;
    let snapshot = wanted
        .wait_for_revision(&call.app, &id, of_prompt(&id))
        .await?;
    // Select the version before the response begins, because its headers name the version.
    let variables = merged(body.variables.as_ref(), body.args.as_ref());
    let input = body.input(&variables, call.exchange.id());
    let service = &call.app.service;
    let chosen = service.choose(&snapshot, &id, &input).await?;
    let version = service.version_of(&snapshot, &chosen).await;
    let revision = Some(chosen.revision);
    drop(variables);
    Ok(set_version_headers(
        answer(&call, snapshot, id, body).await?,
        revision,
        version,
    ))
}

/// Optional features of a request to a prompt.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct ChatFeatures {
    /// Whether a script runs durably. Default: the configured choice.
    durable: Option<bool>,
}

impl ChatBody {
    fn refuse_messages(&self) -> Result<(), ApiError> {
        if self.options.extra.contains_key("messages") {
            return Err(problem(
                ErrorCode::RequestBody,
                "unexpected member messages: the prompt provides the messages",
            )
            .with_hint("pass the prompt's values in \"variables\""));
        }
        Ok(())
    }

    fn input<'a>(&'a self, variables: &'a Map, request_id: &'a str) -> RenderInput<'a> {
        let user = self.options.extra.get("user");
        RenderInput {
            history: &self.history,
            explain: self.explain == Some(true),
            user: user.and_then(serde_json::Value::as_str),
            session: self.session.as_deref(),
            ..RenderInput::new(variables, request_id)
        }
    }
}

async fn answer(
    call: &RequestContext,
    snapshot: Arc<CatalogueSnapshot>,
    id: String,
    body: ChatBody,
) -> Result<Response, ApiError> {
    let is_streamed = body.stream == Some(true);
    let made_of = RenderExplanation::default();
    let asking = match script_job(call, &snapshot, &id, &body).await? {
        Some(job) => {
            match super::script::start_durable(call, &job, body.features.durable, &body.ask)? {
                Some(asking) => asking,
                None => return super::script::answer(call, job).await,
            }
        }
        None if body.features.durable == Some(true) || !body.ask.is_empty() => {
            let message = format!(
                "features.durable: {id:?} is not a script; only agents and scripts can run durably"
            );
            return Err(problem(ErrorCode::InvalidValue, message).with_param("features"));
        }
        None => start_chat(call, snapshot, id, body, made_of.clone()),
    };
    send_reply(call, asking, is_streamed, made_of).await
}

/// Returns the reply as a stream or as one body.
async fn send_reply(
    call: &RequestContext,
    asking: PendingReply,
    is_streamed: bool,
    made_of: RenderExplanation,
) -> Result<Response, ApiError> {
    if is_streamed {
        let told = RestChatEncoder {
            chunks: Chunks::default(),
            exchange: call.exchange.clone(),
            made_of,
        };
        return event_stream::answer(call, asking, told).await;
    }
    let (reply, warnings) = collect_reply(&call.app, asking).await?;
    let completion = ChatCompletion::new(reply, warnings);
    answer_json(&completion.with_explanation(made_of.get().cloned()))
}

/// A prompt or script in the request, and options of the model.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct AnyChatBody {
    /// A definition, as for `PUT`, that is not stored.
    #[schema(value_type = Object)]
    definition: serde_json::Map<String, serde_json::Value>,
    /// The id under which the definition is read as if it were stored. Scripts use it to find
    /// neighbouring files, and templates use it to find partials.
    #[serde(rename = "as")]
    read_as: Option<String>,
    #[serde(flatten)]
    chat: ChatBody,
}

/// Chats with a prompt or a script that is not stored
///
/// Otherwise the same as `POST /chat/prompts/{id}`. The caller needs the permission to write the id
/// in `as`, or to write everything if `as` is not set, because a script may do everything that the
/// operator permits for stored scripts.
#[utoipa::path(post, path = "/chat", tag = "prompts", request_body = AnyChatBody, responses(
    (status = 200, body = ChatCompletion),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "The definition or its variables are invalid"),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "Templates in requests are disabled, or a permission is missing"),
    (status = 502, body = ProblemDetails, content_type = "application/problem+json", description = "The model did not answer after all retries"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "A timeout was reached, or no model is configured"),
))]
pub(crate) async fn chat_unstored(
    call: RequestContext,
    JsonBody(body): JsonBody<AnyChatBody>,
) -> Result<Response, ApiError> {
    if !call.app.takes_inline_templates() {
        return Err(inline_disabled());
    }
    call.require_everywhere(Permission::Render).await?;
    match &body.read_as {
        Some(id) => {
            call.require_permission(Permission::Write, EntryKind::Prompt, id)
                .await?
        }
        None => call.require_everywhere(Permission::Write).await?,
    }
    let AnyChatBody {
        definition,
        read_as,
        chat: body,
    } = body;
    body.refuse_messages()?;
    let unstored = InlinePrompt::Definition(definition);
    let variables = merged(body.variables.as_ref(), body.args.as_ref());
    let input = body.input(&variables, call.exchange.id());
    let (service, read_as) = (&call.app.service, read_as.as_deref());
    if let Some(job) = service.script_unstored(read_as, &unstored, &input).await? {
        let job = ScriptJob {
            model: body.model.clone(),
            options: body.options.clone(),
            stream: body.stream == Some(true),
            ..job
        };
        return super::script::answer(&call, job).await;
    }
    let rendered = service.render_unstored(read_as, &unstored, &input).await?;
    let request = ChatRequest {
        model: body.model.clone().or(rendered.model),
        messages: service.messages(rendered.prompt),
        options: body
            .options
            .clone()
            .or_defaults((*rendered.options).clone()),
    };
    let mut said = warnings(&[], &rendered.unused, &rendered.absent, rendered.failures);
    said.extend(refused_parameters(call.app.models.as_deref(), &request));
    let (app, exchange) = (Arc::clone(&call.app), Arc::clone(&call.exchange));
    let asking: PendingReply = Box::pin(async move {
        let sent = traced::send_chat(&app, &exchange, None, request).await;
        let stream = sent.map_err(|error| ServiceError::Model {
            error,
            failures: Vec::new(),
        })?;
        Ok(StreamingReply {
            stream,
            warnings: said,
        })
    });
    send_reply(
        &call,
        asking,
        body.stream == Some(true),
        RenderExplanation::default(),
    )
    .await
}

/// Chats with a prompt at the path of ai-prompt-shell
#[utoipa::path(post, path = "/prompts/{id}/chat", tag = "prompts", params(("id" = String, Path), RenderParams, MinRevision),
    request_body = ChatBody, responses(
    (status = 200, body = ChatCompletion),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 500, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 502, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn chat_prompt_alias(
    call: RequestContext,
    wanted: RevisionPreconditions,
    id: Id,
    asked: QueryParams<RenderParams>,
    body: JsonBody<ChatBody>,
) -> Result<Response, ApiError> {
    chat_prompt(call, wanted, id, asked, body).await
}

/// Returns the script job of the request, if the prompt is a script.
async fn script_job(
    call: &RequestContext,
    snapshot: &Arc<CatalogueSnapshot>,
    id: &str,
    body: &ChatBody,
) -> Result<Option<ScriptJob>, ApiError> {
    let service = &call.app.service;
    let variables = merged(body.variables.as_ref(), body.args.as_ref());
    let input = body.input(&variables, call.exchange.id());
    let job = service.script_in(snapshot, id, &input).await?;
    Ok(job.map(|job| ScriptJob {
        model: body.model.clone(),
        options: body.options.clone(),
        stream: body.stream == Some(true),
        ..job
    }))
}

/// The explanation of a prompt, set after rendering if the request asks for it.
type RenderExplanation = Arc<OnceLock<Box<Explanation>>>;

fn start_chat(
    call: &RequestContext,
    snapshot: Arc<CatalogueSnapshot>,
    id: String,
    body: ChatBody,
    made_of: RenderExplanation,
) -> PendingReply {
    let (app, exchange) = (Arc::clone(&call.app), Arc::clone(&call.exchange));
    Box::pin(async move {
        let variables = merged(body.variables.as_ref(), body.args.as_ref());
        let input = RenderInput {
            numbered: traced::is_on(&app),
            ..body.input(&variables, exchange.id())
        };
        let (model, options) = (body.model.clone(), body.options.clone());
        let service = &app.service;
        let ready = service.ready_in(&snapshot, &id, &input, model, options);
        let ready = ready.await?;
        for failure in &ready.failures {
            app.metrics.tool_failures.count(failure.code);
        }
        if let Some(explanation) = ready.explanation {
            let _ = made_of.set(explanation);
        }
        let spoke = traced::traced_prompt(&app, &id, ready.version, &variables);
        let refused = refused_parameters(app.models.as_deref(), &ready.request);
        let stream = match traced::send_chat(&app, &exchange, spoke, ready.request).await {
            Ok(stream) => stream,
            Err(error) => {
                let failures = ready.failures;
                return Err(ServiceError::Model { error, failures }.into());
            }
        };
        let mut said = warnings(&[], &ready.unused, &ready.absent, ready.failures);
        said.extend(refused);
        Ok(StreamingReply {
            stream,
            warnings: said,
        })
    })
}

/// Encodes OpenAI's chunks, and failures in this route's own format.
struct RestChatEncoder {
    chunks: Chunks,
    exchange: Arc<Exchange>,
    made_of: RenderExplanation,
}

impl EventEncoder for RestChatEncoder {
    fn begin(&mut self, warnings: Vec<Warning>, _: &mut Vec<u8>) {
        self.chunks.set_warnings(warnings);
        self.chunks.set_explanation(self.made_of.get().cloned());
    }

    fn event(&mut self, event: ChatEvent, out: &mut Vec<u8>) {
        self.chunks.write(event, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Option<BoxFuture<'static, ()>> {
        self.chunks.write_usage(out);
        out.extend_from_slice(DONE);
        None
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        self.chunks.write_usage(out);
        write_failure(error, &self.exchange, out);
    }
}
