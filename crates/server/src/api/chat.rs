//! Rendering a prompt and sending it to the model.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use axum::response::Response;
use futures_util::StreamExt;
use quillet_core::chat::{ChatEvent, ChatOptions, ChatRequest, Reply};
use quillet_core::store::EntryKind;
use quillet_core::{BoxFuture, ErrorCode, Map, Message};
use quillet_host::definitions::Permission;
use quillet_prompt::{
    CatalogueSnapshot, Explanation, InlinePrompt, RenderInput, ScriptJob, ServiceError,
};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::body::JsonBody;
use super::chunk::{Chunks, DONE};
use super::completion::ChatCompletion;
use super::event_stream::{self, EventEncoder, PendingReply, StreamingReply};
use super::render::{RenderParams, switched_off};
use super::{Id, Warning, json as answer_json, merged, traced, warnings};
use crate::app::App;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::{Exchange, RequestContext};
use crate::revision::{MinRevision, RevisionPreconditions, mark, of_prompt};

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
    /// ai-prompt-shell's name for the same; `variables` wins.
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
    /// Whether the answer tells what the prompt was made of; `?explain=true` says the same.
    explain: Option<bool>,
    /// What is switched on.
    #[serde(default)]
    features: ChatFeatures,
    /// Of a durable run: patterns of tools that are not called before somebody has agreed.
    #[serde(default)]
    ask: Vec<String>,
    /// The conversation that this is part of, for labels in shares by `session`; those by `user`
    /// take OpenAI's `user`.
    session: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    options: ChatOptions,
}

/// Renders a prompt, sends it to the model and answers in OpenAI's chat shape:
/// whole, or with `stream` as events whose data are chunks, ended by `[DONE]`.
/// A stream that fails ends with an `error` chunk and without `[DONE]`.
#[utoipa::path(post, path = "/chat/prompts/{id}", tag = "prompts", params(("id" = String, Path), RenderParams, MinRevision),
    request_body = ChatBody, responses(
    (status = 200, body = ChatCompletion),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json", description = "No such prompt"),
    (status = 500, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 502, body = ProblemDetails, content_type = "application/problem+json", description = "The model did not answer, after the retries"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "A limit on time was reached, or no model is configured"),
))]
pub(crate) async fn chat_prompt(
    call: RequestContext,
    wanted: RevisionPreconditions,
    Id(id): Id,
    QueryParams(asked): QueryParams<RenderParams>,
    JsonBody(mut body): JsonBody<ChatBody>,
) -> Result<Response, ApiError> {
    body.explain = Some(asked.explains(body.explain));
    body.refuse_messages()?;
    let snapshot = wanted.of(&call.app, &id, of_prompt(&id)).await?;
    // Chosen before the answer begins, whose headers say it.
    let variables = merged(body.variables.as_ref(), body.args.as_ref());
    let input = body.input(&variables, call.exchange.id());
    let service = &call.app.service;
    let chosen = service.choose(&snapshot, &id, &input).await?;
    let version = service.version_of(&snapshot, &chosen).await;
    let revision = Some(chosen.revision);
    drop(variables);
    Ok(mark(
        answer(&call, snapshot, id, body).await?,
        revision,
        version,
    ))
}

/// Switches of a request to a prompt.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct ChatFeatures {
    /// Whether a script's run outlives its process; the configured choice where absent.
    durable: Option<bool>,
}

impl ChatBody {
    fn refuse_messages(&self) -> Result<(), ApiError> {
        if self.options.extra.contains_key("messages") {
            return Err(problem(
                ErrorCode::RequestBody,
                "the messages come from the prompt, so the body cannot have any",
            )
            .hint("give the prompt what it needs in \"variables\""));
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
    let asking = match script(call, &snapshot, &id, &body).await? {
        Some(job) => match super::script::durably(call, &job, body.features.durable, &body.ask)? {
            Some(asking) => asking,
            None => return super::script::answer(call, job).await,
        },
        None if body.features.durable == Some(true) || !body.ask.is_empty() => {
            let message = format!(
                "features.durable: {id:?} is no script, and only runs of agents and of scripts outlive their process"
            );
            return Err(problem(ErrorCode::InvalidValue, message).about("features"));
        }
        None => ask(call, snapshot, id, body, made_of.clone()),
    };
    told(call, asking, is_streamed, made_of).await
}

/// Tells what is asked for, piece by piece or whole.
async fn told(
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
    let (reply, warnings) = whole(&call.app, asking).await?;
    let completion = ChatCompletion::new(reply, warnings);
    answer_json(&completion.explained(made_of.get().cloned()))
}

/// What is answered with that is not stored, and how the model is to answer.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct AnyChatBody {
    /// A whole definition that is not stored: what `PUT` takes.
    #[schema(value_type = Object)]
    definition: serde_json::Map<String, serde_json::Value>,
    /// The id under which it is read, as if it were stored there: by it a script finds what lies
    /// beside it, and a template its partials.
    #[serde(rename = "as")]
    read_as: Option<String>,
    #[serde(flatten)]
    chat: ChatBody,
}

/// Answers with a prompt or a script that is not stored, as `POST /chat/prompts/{id}` does with
/// one that is. Whoever asks may write the id that it is read as, or everything without one: a
/// script may do what the operator lets stored ones do.
#[utoipa::path(post, path = "/chat", tag = "prompts", request_body = AnyChatBody, responses(
    (status = 200, body = ChatCompletion),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "The definition is broken, or its variables are"),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "Templates in requests are switched off, or a right is missing"),
    (status = 502, body = ProblemDetails, content_type = "application/problem+json", description = "The model did not answer, after the retries"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "A limit on time was reached, or no model is configured"),
))]
pub(crate) async fn chat_unstored(
    call: RequestContext,
    JsonBody(body): JsonBody<AnyChatBody>,
) -> Result<Response, ApiError> {
    if !call.app.takes_inline_templates() {
        return Err(switched_off());
    }
    call.may_everywhere(Permission::Render).await?;
    match &body.read_as {
        Some(id) => call.may(Permission::Write, EntryKind::Prompt, id).await?,
        None => call.may_everywhere(Permission::Write).await?,
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
        options: body.options.clone().over((*rendered.options).clone()),
    };
    let said = warnings(&[], (&rendered.unused, &rendered.absent), rendered.failures);
    let (app, exchange) = (Arc::clone(&call.app), Arc::clone(&call.exchange));
    let asking: PendingReply = Box::pin(async move {
        let sent = traced::send(&app, &exchange, None, request).await;
        let stream = sent.map_err(|error| ServiceError::Model {
            error,
            failures: Vec::new(),
        })?;
        Ok(StreamingReply {
            stream,
            warnings: said,
        })
    });
    told(
        &call,
        asking,
        body.stream == Some(true),
        RenderExplanation::default(),
    )
    .await
}

/// The same at ai-prompt-shell's address.
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

/// The run that the body asks for, if the prompt is a script.
async fn script(
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

/// What a prompt was made of, once it is rendered and if the request asks.
type RenderExplanation = Arc<OnceLock<Box<Explanation>>>;

fn ask(
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
        let spoke = traced::spoke(&app, &id, ready.version, &variables);
        let stream = match traced::send(&app, &exchange, spoke, ready.request).await {
            Ok(stream) => stream,
            Err(error) => {
                let failures = ready.failures;
                return Err(ServiceError::Model { error, failures }.into());
            }
        };
        Ok(StreamingReply {
            stream,
            warnings: warnings(&[], (&ready.unused, &ready.absent), ready.failures),
        })
    })
}

/// Folds a whole answer.
pub(crate) async fn whole(
    app: &App,
    asking: PendingReply,
) -> Result<(Reply, Vec<Warning>), ApiError> {
    in_time(app, async {
        let mut answer = asking.await?;
        let mut reply = Reply::default();
        while let Some(event) = answer.stream.next().await {
            reply.fold(event?);
        }
        Ok((reply, answer.warnings))
    })
    .await
}

/// Waits for a whole answer as long as one may take.
pub(crate) async fn in_time<T>(
    app: &App,
    answer: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(app.config.chat_time, answer).await {
        Ok(answer) => answer,
        Err(_) => {
            let message = format!(
                "the chat took longer than the limit on chat_time ({:?})",
                app.config.chat_time
            );
            Err(problem(ErrorCode::ChatTimeout, message).hint("ask for a stream"))
        }
    }
}

/// The words of this route: chunks as OpenAI's, failures in words of our own.
struct RestChatEncoder {
    chunks: Chunks,
    exchange: Arc<Exchange>,
    made_of: RenderExplanation,
}

impl EventEncoder for RestChatEncoder {
    fn begin(&mut self, warnings: Vec<Warning>, _: &mut Vec<u8>) {
        self.chunks.warn(warnings);
        self.chunks.explain(self.made_of.get().cloned());
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
        tell_failure(error, &self.exchange, out);
    }
}

/// In the shape that OpenAI's clients raise, and without `[DONE]`.
pub(super) fn tell_failure(error: &ApiError, exchange: &Exchange, out: &mut Vec<u8>) {
    let body = json!({"error": {
        "message": error.message(),
        "type": error.code(),
        "code": error.status().to_string(),
        "request_id": exchange.id(),
    }});
    let _ = write!(out, "data: {body}\n\n");
}
