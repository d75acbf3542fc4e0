//! From what a client asks to an answer on its way.

use std::sync::Arc;

use quillet_core::chat::{ChatEvent, ChatOptions, ChatRequest, ChatStream, FinishReason};
use quillet_core::store::Kind;
use quillet_core::{ErrorCode, Role, clock};
use quillet_host::agent::{AgentRequest, ScriptRequest};
use quillet_host::definitions::Right;
use quillet_prompt::{Input, ScriptJob, Unplaced};

use super::prompted::Prompted;
use super::request::Asked;
use super::target::{DATABASE, Target};
use super::{agent, approval};
use crate::api::feed::{Answer, Asking};
use crate::api::{traced, warnings};
use crate::app::App;
use crate::error::{ApiError, problem};
use crate::exchange::{Call, Exchange};
use crate::sql;

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
    if call.exchange.instead().is_some() {
        match target {
            Target::Agent(agent) => return Err(needs_a_loop(&format!("the agent {agent}"))),
            Target::Database(name) => {
                return Err(needs_a_loop(&format!("the database {name}")));
            }
            Target::Model | Target::Prompt(_) => {}
        }
    }
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
        (Target::Database(name), None) => database(call, name, &request).await,
        (Target::Prompt(_) | Target::Agent(_) | Target::Database(_), Some(_)) => {
            let message = "model: beside a prompt it is the name of a model that answers it";
            Err(problem(ErrorCode::InvalidValue, message).about("model"))
        }
    }
}

/// The name that the answer says it is from, where it is not a model's.
pub(super) fn name(request: &ChatRequest) -> Option<String> {
    match Target::of(request.model.as_deref()) {
        Target::Model => None,
        Target::Prompt(_) | Target::Agent(_) | Target::Database(_) => request.model.clone(),
    }
}

/// Asks a database what the user said last. The answer is the JSON of `POST …/query/natural` with its
/// rows.
async fn database(call: &Call, name: &str, request: &ChatRequest) -> Result<Asking, ApiError> {
    call.may(Right::Render, Kind::Database, name).await?;
    let said = request.messages.iter().rev();
    let mut said = said.filter(|message| message.role == Role::User);
    let question = said.next().map(|message| message.content.to_string());
    let question = question.filter(|question| !question.trim().is_empty());
    let question = question.ok_or_else(|| {
        let message = "messages: a database is asked what the user says last, and there is nothing";
        problem(ErrorCode::InvalidValue, message).about("messages")
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
    let answer = Answer {
        stream,
        warnings: Vec::new(),
    };
    Ok(Box::pin(async move { Ok(answer) }))
}

fn model(call: &Call, request: ChatRequest) -> Asking {
    let (app, exchange) = (Arc::clone(&call.app), call.exchange.clone());
    Box::pin(async move {
        let stream = traced::send(&app, &exchange, None, request).await?;
        Ok(Answer {
            stream,
            warnings: Vec::new(),
        })
    })
}

/// A provider's batch API asks a model once.
fn needs_a_loop(what: &str) -> ApiError {
    let message =
        format!("model: {what} asks models in a loop, which no provider's batch API does");
    problem(ErrorCode::InvalidValue, message)
        .about("model")
        .hint("leave out provider_batch for such rows")
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
            numbered: traced::is_on(&app),
            ..Input::new(&wanted.variables, exchange.id())
        };
        if let Some(job) = app.service.script_in(&snapshot, &id, &input).await? {
            if exchange.instead().is_some() {
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
                return agent::begin(agents.clone(), asked, (who, run), exchange.is_row()).await;
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
        let spoke = traced::spoke(&app, &id, rendered.version, &wanted.variables);
        Ok(Answer {
            stream: traced::send(&app, &exchange, spoke, request).await?,
            warnings: warnings(&[], (&[], &rendered.absent), rendered.failures),
        })
    }))
}
