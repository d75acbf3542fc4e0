//! Sends a request to the model, prompt, agent or database that its model name selects.

use std::sync::Arc;

use quillet_core::chat::{ChatEvent, ChatOptions, ChatRequest, ChatStream, FinishReason};
use quillet_core::store::EntryKind;
use quillet_core::{ErrorCode, Role, clock};
use quillet_host::agent::{AgentRequest, ScriptRequest};
use quillet_host::definitions::Permission;
use quillet_prompt::{HistoryPlacement, RenderInput, ScriptJob};

use super::prompt_reference::PromptReference;
use super::request::ParsedRequest;
use super::target::{DATABASE, ModelTarget};
use super::{agent, approval};
use crate::api::event_stream::{PendingReply, StreamingReply};
use crate::api::traced;
use crate::app::App;
use crate::error::{ApiError, problem};
use crate::request_context::{Exchange, RequestContext};
use crate::sql;
use crate::warning::{refused_parameters, warnings};

/// Sends the request to the target of its model name.
pub(super) async fn send_request(
    call: &RequestContext,
    asked: ParsedRequest,
) -> Result<PendingReply, ApiError> {
    let ParsedRequest {
        mut request,
        stream,
        variables,
        prompted,
        ..
    } = asked;
    let name = request.model.take();
    let target = ModelTarget::of(name.as_deref());
    if call.exchange.replacement_model().is_some() {
        match target {
            ModelTarget::Agent(agent) => return Err(needs_a_loop(&format!("the agent {agent}"))),
            ModelTarget::Database(name) => {
                return Err(needs_a_loop(&format!("the database {name}")));
            }
            ModelTarget::Model | ModelTarget::Prompt(_) => {}
        }
    }
    // Agents always stream internally, because their tool calls are events.
    if !stream && !matches!(target, ModelTarget::Agent(_)) {
        // The client does not read deltas, so request a complete reply from the provider.
        request.options.extra.insert("stream".into(), false.into());
    }
    match (target, prompted) {
        (ModelTarget::Model, Some(prompted)) => {
            request.model = name;
            prompt(call, prompted, request).await
        }
        (ModelTarget::Model, None) => {
            request.model = name;
            Ok(model(call, request))
        }
        (ModelTarget::Prompt(id), None) => {
            prompt(call, PromptReference::plain(id, variables), request).await
        }
        (ModelTarget::Agent(_), None) => agent::ask(call, name, request).await,
        (ModelTarget::Database(name), None) => database(call, name, &request).await,
        (ModelTarget::Prompt(_) | ModelTarget::Agent(_) | ModelTarget::Database(_), Some(_)) => {
            let message = "model: must be the name of a model if the request has a prompt";
            Err(problem(ErrorCode::InvalidValue, message).with_param("model"))
        }
    }
}

/// Returns the model name for the response if the target is not a model.
pub(super) fn name(request: &ChatRequest) -> Option<String> {
    match ModelTarget::of(request.model.as_deref()) {
        ModelTarget::Model => None,
        ModelTarget::Prompt(_) | ModelTarget::Agent(_) | ModelTarget::Database(_) => {
            request.model.clone()
        }
    }
}

/// Asks a database the question in the last user message. The reply is the JSON of `POST
/// …/query/natural` with its rows.
async fn database(
    call: &RequestContext,
    name: &str,
    request: &ChatRequest,
) -> Result<PendingReply, ApiError> {
    call.require_permission(Permission::Render, EntryKind::Database, name)
        .await?;
    let said = request.messages.iter().rev();
    let mut said = said.filter(|message| message.role == Role::User);
    let question = said.next().map(|message| message.content.to_string());
    let question = question.filter(|question| !question.trim().is_empty());
    let question = question.ok_or_else(|| {
        let message = "messages: a database needs a question in the last user message";
        problem(ErrorCode::InvalidValue, message).with_param("messages")
    })?;
    let answer = sql::answer(call, name, &question).await?;
    let events = vec![
        Ok(ChatEvent::Start {
            id: format!("chatcmpl-{}", call.exchange.id()),
            model: format!("{DATABASE}{name}"),
            created: clock::millis() / 1000,
        }),
        Ok(ChatEvent::Text {
            choice: 0,
            text: answer,
        }),
        Ok(ChatEvent::Finish {
            choice: 0,
            reason: FinishReason::Stop,
            raw: "stop".to_owned(),
        }),
    ];
    let stream: ChatStream = Box::pin(futures_util::stream::iter(events));
    let answer = StreamingReply {
        stream,
        warnings: Vec::new(),
    };
    Ok(Box::pin(async move { Ok(answer) }))
}

fn model(call: &RequestContext, request: ChatRequest) -> PendingReply {
    let (app, exchange) = (Arc::clone(&call.app), call.exchange.clone());
    Box::pin(async move {
        let refused = refused_parameters(app.models.as_deref(), &request);
        let stream = traced::send_chat(&app, &exchange, None, request).await?;
        Ok(StreamingReply {
            stream,
            warnings: refused.into_iter().collect(),
        })
    })
}

/// Returns the error for targets with repeated model calls, which a provider's batch API cannot
/// make.
fn needs_a_loop(what: &str) -> ApiError {
    let message =
        format!("model: {what} calls models in a loop, which no provider's batch API supports");
    problem(ErrorCode::InvalidValue, message)
        .with_param("model")
        .with_hint("omit provider_batch for such rows")
}

/// Runs a script with the conversation. The last user message is its input, and the earlier
/// messages are its history.
async fn script(
    app: &App,
    job: ScriptJob,
    options: ChatOptions,
) -> Result<StreamingReply, ApiError> {
    let stream = options.extra.get("stream") != Some(&false.into());
    let job = ScriptJob {
        options,
        stream,
        ..job
    };
    crate::api::script::check(&job)?;
    Ok(StreamingReply {
        stream: app.service.chat_script(job).await?,
        warnings: Vec::new(),
    })
}

/// Sends the rendered prompt followed by the conversation, unless the prompt has a placeholder for
/// it. Options of the request override the model and options of the prompt.
async fn prompt(
    call: &RequestContext,
    wanted: PromptReference,
    request: ChatRequest,
) -> Result<PendingReply, ApiError> {
    let decisions = approval::decisions(&request.messages);
    if let (Some(agents), false) = (&call.app.agents, decisions.is_empty()) {
        return agent::resume_run(agents.clone(), call.principal(), decisions);
    }
    let snapshot = call.app.service.catalogue().snapshot();
    let id = call.app.aliases.resolve(&snapshot, &wanted.id);
    call.require_permission(Permission::Render, EntryKind::Prompt, &id)
        .await?;
    let (app, exchange): (Arc<App>, Arc<Exchange>) = (call.app.clone(), call.exchange.clone());
    let (who, run) = (call.principal(), call.exchange.set_agent_id(None));
    Ok(Box::pin(async move {
        let input = RenderInput {
            history: &request.messages,
            unplaced: HistoryPlacement::Last,
            numbered: traced::is_on(&app),
            ..RenderInput::new(&wanted.variables, exchange.id())
        };
        if let Some(job) = app.service.script_in(&snapshot, &id, &input).await? {
            if exchange.replacement_model().is_some() {
                return Err(needs_a_loop(&format!("the script {id}")));
            }
            let model = request.model.or(job.model.clone());
            let job = ScriptJob { model, ..job };
            if let Some(agents) = &app.agents
                && (agents.options().durable || job.script.asks)
            {
                let job = ScriptJob {
                    options: request.options,
                    ..job
                };
                crate::api::script::check(&job)?;
                let asked = AgentRequest::of_script(ScriptRequest::of_job(&job));
                return agent::begin(agents.clone(), asked, who, run, exchange.is_row()).await;
            }
            return script(&app, job, request.options).await;
        }
        let rendered = app.service.render_in(&snapshot, &id, &input).await?;
        let mut messages = app.service.messages(rendered.prompt);
        wanted.insert_media(&mut messages);
        let request = ChatRequest {
            model: request.model.or(rendered.model),
            messages,
            options: request.options.or_defaults((*rendered.options).clone()),
        };
        for failure in &rendered.failures {
            app.metrics.tool_failures.count(failure.code);
        }
        let spoke = traced::traced_prompt(&app, &id, rendered.version, &wanted.variables);
        let mut said = warnings(&[], &[], &rendered.absent, rendered.failures);
        said.extend(refused_parameters(app.models.as_deref(), &request));
        Ok(StreamingReply {
            stream: traced::send_chat(&app, &exchange, spoke, request).await?,
            warnings: said,
        })
    }))
}
