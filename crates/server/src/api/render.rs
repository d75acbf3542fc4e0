//! Renders prompts.

use std::sync::atomic::Ordering;

use axum::response::Response;
use quillet_core::chat::Usage;
use quillet_core::store::EntryKind;
use quillet_core::{Diagnostic, ErrorCode, Map, Message};
use quillet_host::definitions::Permission;
use quillet_llm::models::ModelFacts;
use quillet_llm::tokens::counter_for;
use quillet_prompt::{
    DryRun, Explanation, InlinePrompt, RenderInput, RenderOutcome, RenderedPrompt, ServiceError,
    file,
};
use quillet_template::TextSegment;
use serde::{Deserialize, Serialize};
use serde_json::Value as Tree;
use utoipa::{IntoParams, ToSchema};

use super::body::NotedBody;
use super::members::UnknownField;
use super::{Id, json_body, merged};
use crate::app::App;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::{QueryParams, is_on};
use crate::request_context::RequestContext;
use crate::revision::{MinRevision, RevisionPreconditions, of_prompt, set_version_headers};
use crate::warning::{Warning, warnings};

/// Query parameters of a render.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RenderParams {
    /// `true` adds an explanation: the source of each variable, the tool calls, and the version of
    /// each template.
    explain: Option<String>,
}

impl RenderParams {
    /// Returns whether the body requests an explanation. If it does not say, the query decides.
    pub(super) fn is_explained(&self, member: Option<bool>) -> bool {
        member.unwrap_or(is_on(self.explain.as_deref()))
    }
}

/// Variables and options of a render.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct RenderRequest {
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
    /// Whether the response includes an explanation. `?explain=true` has the same effect.
    explain: Option<bool>,
    /// `true` returns the text of each template in segments that name their source.
    segments: Option<bool>,
    /// `true` returns the token count of the prompt for its model, and its cost.
    count: Option<bool>,
    /// The user id. Weighted labels by `user` select the same version for the same user.
    user: Option<String>,
    /// The conversation id, for weighted labels by `session`.
    session: Option<String>,
}

/// A stored prompt or an inline template, with variables and options.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct AnyRenderRequest {
    /// A stored prompt.
    #[serde(alias = "id")]
    prompt_id: Option<String>,
    /// A text template, instead of a stored prompt.
    template: Option<String>,
    /// Messages whose contents are templates, instead of a stored prompt.
    #[schema(value_type = Option<Vec<Object>>)]
    messages: Option<Tree>,
    /// A definition, as for `PUT`, instead of a template. It is not stored.
    #[schema(value_type = Option<Object>)]
    definition: Option<serde_json::Map<String, Tree>>,
    /// A prompt file, instead of a template. It is not stored.
    file: Option<FileText>,
    /// The id under which `definition` or `file` is read as if it were stored. Scripts use it to
    /// find neighbouring files, and templates use it to find partials.
    #[serde(rename = "as")]
    read_as: Option<String>,
    /// The format of `template` or `messages`: `go` (the default), `jinja`,
    /// `semantic-kernel`, `handlebars`, `mustache`, `liquid`, `f-string` and so on, or an alias.
    #[serde(alias = "template_format", alias = "templateFormat")]
    format: Option<String>,
    /// How the template marks the beginning of messages: `plain` (the default), `elements` or
    /// `role-lines`.
    #[serde(rename = "messageSyntax", alias = "message_syntax")]
    message_syntax: Option<String>,
    /// What happens when a variable is missing: `strict` (the default) or `lenient`.
    missing: Option<String>,
    /// Declared parameters, as in a stored prompt.
    #[schema(value_type = Option<Object>)]
    parameters: Option<Tree>,
    /// Variables.
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
    /// Whether the response includes an explanation. `?explain=true` has the same effect.
    explain: Option<bool>,
    /// `true` returns the text of each template in segments that name their source.
    segments: Option<bool>,
    /// `true` returns the token count of the prompt for its model, and its cost.
    count: Option<bool>,
    /// The user id. Weighted labels by `user` select the same version for the same user.
    user: Option<String>,
    /// The conversation id, for weighted labels by `session`.
    session: Option<String>,
}

/// A prompt file.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub(crate) struct FileText {
    /// The file name. Its extension selects the format: `greet.prompt`.
    name: String,
    /// The complete text, front matter and template.
    text: String,
}

impl FileText {
    /// Converts the file to an inline prompt.
    pub(super) fn to_inline_prompt(&self) -> Result<InlinePrompt, ApiError> {
        if file::kind(&self.name, &self.text).is_none() {
            let message = format!(
                "file.name: {:?} is not the name of a prompt file",
                self.name
            );
            return Err(problem(ErrorCode::RequestBody, message).with_hint(
                "use a file extension that selects the format, such as greet.prompt or greet.prompty",
            ));
        }
        Ok(InlinePrompt::File {
            name: self.name.as_str().into(),
            text: self.text.as_str().into(),
        })
    }
}

/// A text, or messages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rendered)]
#[serde(untagged)]
pub(crate) enum RenderOutput {
    /// A text.
    Text(String),
    /// Messages with `role` and `content`: a text, or a list of parts such as
    /// `{"type": "image_url", "image_url": {"url": "…"}}`.
    #[schema(value_type = Vec<Object>)]
    Messages(Vec<Message>),
}

impl RenderOutput {
    fn kind(&self) -> &'static str {
        match self {
            RenderOutput::Text(_) => "prompt",
            RenderOutput::Messages(_) => "messages",
        }
    }
}

/// The rendered prompt, a text or messages.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RenderReply {
    /// The text or the messages.
    rendered_prompt: RenderOutput,
    /// Always `success`.
    status: &'static str,
    /// `prompt` for a text, `messages` for messages.
    kind: &'static str,
    /// Failed tool calls that were replaced by fallback values, and unknown members and variables
    /// of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    /// `true` if the store is unavailable, so that shared variables may be outdated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stale: bool,
    /// For a script: the requests that it would make.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<DryRunReply>,
    /// The explanation, if requested: `template`, `variables`, `calls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    explanation: Option<Box<Explanation>>,
    /// The text of each template in order, as segments, if requested: `kind` is `literal` for text
    /// of the template and `interp` for a value, with its `source`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Vec<Object>>>)]
    segments: Option<Vec<Vec<RenderedSegment>>>,
    /// Tokens and their cost, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<TokenCount>,
}

/// A segment of a rendered text.
#[derive(Debug, Serialize)]
struct RenderedSegment {
    kind: &'static str,
    text: String,
    /// The variable as written in the template, or the called function.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// The token count of a rendered prompt, and its cost without a reply.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenCount {
    /// The model of the prompt, for which the tokens are counted. Without a model the count is an
    /// estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    input_tokens: u64,
    /// The cost in US dollars, if the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

/// The requests that a script would make if every reply were empty.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DryRunReply {
    /// The messages of each request, in order.
    #[schema(value_type = Vec<Vec<Object>>)]
    requests: Vec<Vec<Message>>,
    /// Warnings for the author, including requirements of a real run that the dry run skips.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    warnings: Vec<Diagnostic>,
    /// The reason why the dry run stopped, if it did: the script needs a real reply or a
    /// permission.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
}

impl From<DryRun> for DryRunReply {
    fn from(dry: DryRun) -> Self {
        DryRunReply {
            requests: dry.requests,
            warnings: dry.warnings,
            stopped: dry.stopped.map(|error| error.to_string()),
        }
    }
}

/// A rendered prompt in ai-prompt-shell's format. `kind` selects `prompt` or `messages`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KindReply {
    /// `prompt` for a text, `messages` for messages.
    kind: &'static str,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// The messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    messages: Option<Vec<Message>>,
    /// Failed tool calls that were replaced by fallback values, and unknown members and variables
    /// of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    /// `true` if the store is unavailable, so that shared variables may be outdated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stale: bool,
    /// For a script: the requests that it would make.
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<DryRunReply>,
    /// The explanation, if requested: `template`, `variables`, `calls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    explanation: Option<Box<Explanation>>,
}

/// Renders a prompt with the variables of the request
///
/// A script is not run: the messages are those of its first request.
#[utoipa::path(post, path = "/render/prompts/{id}", tag = "prompts", params(("id" = String, Path), RenderParams, MinRevision),
    request_body = RenderRequest, responses(
    (status = 200, body = RenderReply),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "Missing or invalid variables, an invalid template, an unknown function or a malformed body"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json", description = "Unknown prompt"),
    (status = 413, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 500, body = ProblemDetails, content_type = "application/problem+json", description = "The template cannot be evaluated with these values"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The render timed out, or the store is unavailable and nothing is cached"),
))]
pub(crate) async fn render_prompt(
    call: RequestContext,
    wanted: RevisionPreconditions,
    Id(id): Id,
    QueryParams(asked): QueryParams<RenderParams>,
    NotedBody(request, unknown): NotedBody<RenderRequest>,
) -> Result<Response, ApiError> {
    let outcome = render_stored(&call, &wanted, &id, &request, &asked).await?;
    let (revision, version) = (outcome.revision, outcome.version);
    let counted = request.count == Some(true);
    Ok(set_version_headers(
        reply(outcome, &unknown, counted)?,
        revision,
        version,
    ))
}

/// Renders a prompt at the path and in the format of ai-prompt-shell
#[utoipa::path(post, path = "/prompts/{id}/render", tag = "prompts", params(("id" = String, Path), RenderParams, MinRevision),
    request_body = RenderRequest, responses(
    (status = 200, body = KindReply),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 500, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn render_prompt_kind(
    call: RequestContext,
    wanted: RevisionPreconditions,
    Id(id): Id,
    QueryParams(asked): QueryParams<RenderParams>,
    NotedBody(request, unknown): NotedBody<RenderRequest>,
) -> Result<Response, ApiError> {
    let outcome = render_stored(&call, &wanted, &id, &request, &asked).await?;
    let (revision, version) = (outcome.revision, outcome.version);
    let warnings = warnings(&unknown, &outcome.unused, &outcome.absent, outcome.failures);
    let rendered = render_output(outcome.prompt);
    let kind = rendered.kind();
    let (prompt, messages) = match rendered {
        RenderOutput::Text(text) => (Some(text), None),
        RenderOutput::Messages(messages) => (None, Some(messages)),
    };
    let reply = json_body(&KindReply {
        kind,
        prompt,
        messages,
        warnings,
        stale: outcome.stale,
        dry_run: outcome.dry_run.map(DryRunReply::from),
        explanation: outcome.explanation,
    })?;
    Ok(set_version_headers(reply, revision, version))
}

/// Renders a stored prompt or a template in the body
#[utoipa::path(post, path = "/render", tag = "prompts", params(RenderParams, MinRevision), request_body = AnyRenderRequest, responses(
    (status = 200, body = RenderReply),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "Templates in requests are disabled"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 500, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn render(
    call: RequestContext,
    wanted: RevisionPreconditions,
    QueryParams(asked): QueryParams<RenderParams>,
    NotedBody(request, unknown): NotedBody<AnyRenderRequest>,
) -> Result<Response, ApiError> {
    let variables = merged(request.variables.as_ref(), request.args.as_ref());
    let input = RenderInput {
        history: &request.history,
        explain: asked.is_explained(request.explain),
        numbered: true,
        segments: request.segments == Some(true),
        user: request.user.as_deref(),
        session: request.session.as_deref(),
        ..RenderInput::new(&variables, call.exchange.id())
    };
    let inline = request.template.is_some()
        || request.messages.is_some()
        || request.definition.is_some()
        || request.file.is_some();
    let outcome = match (&request.prompt_id, inline) {
        (Some(_), true) => return Err(either_or("both")),
        (None, false) => return Err(either_or("neither")),
        (Some(id), false) => {
            call.require_permission(Permission::Render, EntryKind::Prompt, id)
                .await?;
            let snapshot = wanted
                .wait_for_revision(&call.app, id, of_prompt(id))
                .await?;
            call.app.service.render_in(&snapshot, id, &input).await
        }
        (None, true) if !call.app.takes_inline_templates() => return Err(inline_disabled()),
        (None, true) => {
            // An inline template can call any prompt and tool, so it needs the permission for all
            // of them.
            call.require_everywhere(Permission::Render).await?;
            wanted.wait_for_latest(&call.app).await?;
            let unstored = match &request.file {
                Some(file) => file.to_inline_prompt()?,
                None => definition(&request).into(),
            };
            let read_as = request.read_as.as_deref();
            let service = &call.app.service;
            let mut outcome = service.render_unstored(read_as, &unstored, &input).await;
            // `{{name}}` calls a function in Go templates. Authors who use Jinja or Mustache often
            // write it by mistake.
            if matches!(request.format.as_deref(), None | Some("go"))
                && let Err(ServiceError::UnknownFunctions { names, hints, .. }) = &mut outcome
                && let ([name, ..], []) = (&names[..], &hints[..])
            {
                hints.push(format!(
                    "the template was read as go, where a variable is {{{{.variables.{name}}}}}; set \"format\" for another format, such as jinja"
                ));
            }
            outcome
        }
    };
    let outcome = record_render(&call.app, outcome)?;
    let (revision, version) = (outcome.revision, outcome.version);
    let counted = request.count == Some(true);
    Ok(set_version_headers(
        reply(outcome, &unknown, counted)?,
        revision,
        version,
    ))
}

fn either_or(found: &str) -> ApiError {
    let message = format!("the body must have either prompt_id or template, but has {found}");
    problem(ErrorCode::RequestBody, message).with_hint(
        "send {\"prompt_id\": \"…\"} or {\"template\": \"…\"}, and the values in \"variables\"",
    )
}

pub(super) fn inline_disabled() -> ApiError {
    problem(
        ErrorCode::RenderInlineTemplates,
        "templates in requests are disabled",
    )
    .with_hint("store the template as a prompt, or set server.inline_templates")
}

/// Converts the request to the definition of a prompt.
fn definition(request: &AnyRenderRequest) -> serde_json::Map<String, Tree> {
    if let Some(whole) = &request.definition {
        return whole.clone();
    }
    let text = |text: &Option<String>| text.clone().map(Tree::from);
    let members = [
        ("prompt", text(&request.template)),
        ("messages", request.messages.clone()),
        ("format", text(&request.format)),
        ("messageSyntax", text(&request.message_syntax)),
        ("missing", text(&request.missing)),
        ("parameters", request.parameters.clone()),
    ];
    let given = |(name, value): (&str, Option<Tree>)| Some((name.to_owned(), value?));
    members.into_iter().filter_map(given).collect()
}

async fn render_stored(
    call: &RequestContext,
    wanted: &RevisionPreconditions,
    id: &str,
    request: &RenderRequest,
    asked: &RenderParams,
) -> Result<RenderOutcome, ApiError> {
    let variables = merged(request.variables.as_ref(), request.args.as_ref());
    let input = RenderInput {
        history: &request.history,
        explain: asked.is_explained(request.explain),
        numbered: true,
        segments: request.segments == Some(true),
        user: request.user.as_deref(),
        session: request.session.as_deref(),
        ..RenderInput::new(&variables, call.exchange.id())
    };
    let snapshot = wanted
        .wait_for_revision(&call.app, id, of_prompt(id))
        .await?;
    let outcome = call.app.service.render_in(&snapshot, id, &input).await;
    record_render(&call.app, outcome)
}

/// Counts one render.
fn record_render(
    app: &App,
    outcome: Result<RenderOutcome, ServiceError>,
) -> Result<RenderOutcome, ApiError> {
    let metrics = &app.metrics;
    for failure in outcome
        .as_ref()
        .err()
        .map_or(&[][..], ServiceError::failures)
    {
        metrics.tool_failures.count(failure.code);
    }
    let outcome = outcome?;
    metrics.render.record(outcome.time);
    if outcome.calls > 0 {
        metrics
            .tool_calls
            .fetch_add(outcome.calls as u64, Ordering::Relaxed);
    }
    if outcome.stale {
        metrics.stale.fetch_add(1, Ordering::Relaxed);
    }
    for failure in &outcome.failures {
        metrics.tool_failures.count(failure.code);
    }
    Ok(outcome)
}

fn render_output(prompt: RenderedPrompt) -> RenderOutput {
    match prompt {
        RenderedPrompt::Text(text) => RenderOutput::Text(text),
        RenderedPrompt::Messages(messages) => RenderOutput::Messages(messages),
    }
}

fn reply(
    outcome: RenderOutcome,
    unknown: &[UnknownField],
    counted: bool,
) -> Result<Response, ApiError> {
    let count = counted.then(|| count(outcome.model.clone(), &outcome.prompt));
    let segments = outcome.segments.into_iter().map(pieces).collect();
    let warnings = warnings(unknown, &outcome.unused, &outcome.absent, outcome.failures);
    let rendered = render_output(outcome.prompt);
    json_body(&RenderReply {
        kind: rendered.kind(),
        rendered_prompt: rendered,
        status: "success",
        warnings,
        stale: outcome.stale,
        dry_run: outcome.dry_run.map(DryRunReply::from),
        explanation: outcome.explanation,
        segments: Some(segments).filter(|segments: &Vec<_>| !segments.is_empty()),
        count,
    })
}

fn pieces(segments: Vec<TextSegment>) -> Vec<RenderedSegment> {
    let piece = |segment: TextSegment| RenderedSegment {
        kind: segment.kind.name(),
        text: segment.text,
        source: segment.source,
    };
    segments.into_iter().map(piece).collect()
}

fn count(model: Option<String>, prompt: &RenderedPrompt) -> TokenCount {
    let name = model.as_deref().unwrap_or_default();
    let counter = counter_for(name);
    let input_tokens = match prompt {
        RenderedPrompt::Text(text) => counter.count_text(text),
        RenderedPrompt::Messages(messages) => messages
            .iter()
            .map(|message| counter.count_message(message))
            .sum(),
    };
    let usage = Usage {
        input_tokens,
        ..Usage::default()
    };
    TokenCount {
        cost_usd: ModelFacts::built_in().find(name).cost(&usage),
        model,
        input_tokens,
    }
}
