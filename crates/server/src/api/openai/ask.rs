//! From what a client asks to an answer on its way.

use std::sync::Arc;
use std::time::Instant;

use quillet_core::ErrorCode;
use quillet_core::chat::{ChatOptions, ChatRequest, ModelError, ModelErrorKind};
use quillet_core::store::Kind;
use quillet_host::agent::{AgentRequest, ScriptRequest};
use quillet_host::definitions::Right;
use quillet_prompt::{Input, ScriptJob, Unplaced};

use super::prompted::Prompted;
use super::request::Asked;
use super::target::Target;
use super::{agent, approval};
use crate::api::feed::{Answer, Asking};
use crate::api::warnings;
use crate::app::App;
use crate::error::{ApiError, problem};
use crate::exchange::{Call, Exchange};

/// Asks whoever the name of the model stands for.
pub(super) async fn ask(call: &Call, asked: Asked) -> Result<Asking, ApiError> {
    let Asked {
        mut request,
        stream,
        variables,
        prompted,
        ..
    } = asked;
    let name = request.model.take();
    let target = Target::of(name.as_deref());
    if !stream && !matches!(target, Target::Agent(_)) {
        // Nobody reads the pieces, so none need be made.
        request.options.extra.insert("stream".into(), false.into());
    }
    match (target, prompted) {
        (Target::Model, Some(prompted)) => {
            request.model = name;
            prompt(call, prompted, request).await
        }
        (Target::Model, None) => {
            request.model = name;
            Ok(model(call, request))
        }
        (Target::Prompt(id), None) => prompt(call, Prompted::plain(id, variables), request).await,
        (Target::Agent(_), None) => agent::ask(call, name, request).await,
        (Target::Prompt(_) | Target::Agent(_), Some(_)) => {
            let message = "model: beside a prompt it is the name of a model that answers it";
            Err(problem(ErrorCode::InvalidValue, message).about("model"))
        }
    }
}

/// The name that the answer says it is from, where it is not a model's.
pub(super) fn name(request: &ChatRequest) -> Option<String> {
    match Target::of(request.model.as_deref()) {
        Target::Model => None,
        Target::Prompt(_) | Target::Agent(_) => request.model.clone(),
    }
}

fn model(call: &Call, request: ChatRequest) -> Asking {
    let app = Arc::clone(&call.app);
    Box::pin(async move {
        let stream = send(&app, request).await?;
        Ok(Answer {
            stream,
            warnings: Vec::new(),
        })
    })
}

async fn send(
    app: &App,
    request: ChatRequest,
) -> Result<quillet_core::chat::ChatStream, ModelError> {
    let model = app.service.model().ok_or_else(no_model)?;
    let started = Instant::now();
    let stream = model.stream(request).await?;
    app.metrics.model.record(started.elapsed());
    Ok(stream)
}

pub(super) fn no_model() -> ModelError {
    let message = "no model is configured: set OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY or model.base_url, or name the model mock";
    ModelError::new(ModelErrorKind::Configuration, message)
}

/// A script is run with the conversation: its last message of the user is what the script is
/// asked, what was said before is its history.
async fn script(app: &App, job: ScriptJob, options: ChatOptions) -> Result<Answer, ApiError> {
    let stream = options.extra.get("stream") != Some(&false.into());
    let job = ScriptJob {
        options,
        stream,
        ..job
    };
    crate::api::script::check(&job)?;
    Ok(Answer {
        stream: app.service.chat_script(job).await?,
        warnings: Vec::new(),
    })
}

/// What the prompt renders to, then the conversation, unless the prompt has a place for it; the
/// prompt's own model answers, and the request's model and parameters win over its own.
async fn prompt(call: &Call, wanted: Prompted, request: ChatRequest) -> Result<Asking, ApiError> {
    let decisions = approval::decisions(&request.messages);
    if let (Some(agents), false) = (&call.app.agents, decisions.is_empty()) {
        return agent::go_on(agents.clone(), call.who(), decisions);
    }
    let snapshot = call.app.service.catalogue().snapshot();
    let id = call.app.aliases.resolve(&snapshot, &wanted.id);
    call.may(Right::Render, Kind::Prompt, &id).await?;
    let (app, exchange): (Arc<App>, Arc<Exchange>) = (call.app.clone(), call.exchange.clone());
    let (who, run) = (call.who(), call.exchange.name(None));
    Ok(Box::pin(async move {
        let input = Input {
            history: &request.messages,
            unplaced: Unplaced::Last,
            ..Input::new(&wanted.variables, exchange.id())
        };
        if let Some(job) = app.service.script_in(&snapshot, &id, &input).await? {
            let model = request.model.or(job.model.clone());
            let job = ScriptJob { model, ..job };
            if let Some(agents) = &app.agents
                && agents.options().durable
            {
                let job = ScriptJob {
                    options: request.options,
                    ..job
                };
                crate::api::script::check(&job)?;
                let asked = AgentRequest::of_script(ScriptRequest::of_job(&job));
                return agent::begin(agents.clone(), asked, who, run).await;
            }
            return script(&app, job, request.options).await;
        }
        let rendered = app.service.render_in(&snapshot, &id, &input).await?;
        let mut messages = app.service.messages(rendered.prompt);
        wanted.illustrate(&mut messages);
        let request = ChatRequest {
            model: request.model.or(rendered.model),
            messages,
            options: request.options.over((*rendered.options).clone()),
        };
        for failure in &rendered.failures {
            app.metrics.tool_failures.count(failure.code);
        }
        Ok(Answer {
            stream: send(&app, request).await?,
            warnings: warnings(&[], (&[], &rendered.absent), rendered.failures),
        })
    }))
}
