//! Runs a prompt instead of a script: renders it and sends its messages to its model, or to each
//! model of `-m`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use quillet::components;
use quillet::components::agents;
use quillet::settings::{self, Settings};
use quillet_core::Message;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatOptions, ChatRequest, ModelError, ModelErrorKind, Reply,
};
use quillet_llm::models::{ModelRouter, RefusedParameters};
use quillet_script::library;
use serde_json::{Value as Json, json};

use super::arguments;
use crate::args::RunArgs;
use crate::chat::{IdleIndicator, ProseWriter, one_line};
use crate::command::render::as_text;
use crate::failure::CliError;
use crate::prompt_target;
use crate::scripts::{self, MOCK, pretty};
use crate::terminal::{self, Stream, TextStyle, styled};

/// Returns the name of a prompt if the arguments select one: a prompt file, or a stored id that
/// does not belong to a script.
pub(super) async fn prompt_name<'a>(
    args: &'a RunArgs,
    config: &Settings,
) -> Result<Option<&'a str>, CliError> {
    let name = args.file.as_deref().or(args.script.as_deref());
    let Some(name) = name.filter(|name| *name != "-") else {
        return Ok(None);
    };
    if Path::new(name).is_file() {
        return Ok(prompt_target::is_prompt(name)?.then_some(name));
    }
    let search = scripts::search(&args.with)?;
    // A script takes precedence over a stored prompt of the same id.
    let is_script = library::open(name, &search).await.is_ok();
    let is_there = !is_script && prompt_target::is_stored(name, config).await?;
    Ok(is_there.then_some(name))
}

/// Renders and sends the prompt.
pub(super) async fn run(args: &RunArgs, name: &str, config: &Settings) -> Result<(), CliError> {
    if args.interactive || args.chats.histories.is_some() {
        return Err(CliError::Usage(format!(
            "{name} is a prompt, not a script, and cannot be continued; use `quillet chat` to chat with a model"
        )));
    }
    let late = async {
        match args.with.limits.timeout.map(Duration::from_secs_f64) {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        // Polled first, so that work that completes exactly at the timeout counts as done.
        done = work(args, name, config) => done,
        () = late => Err(CliError::Other("the run exceeded --timeout".to_owned())),
        _ = tokio::signal::ctrl_c() => Err(CliError::Interrupted),
    }
}

async fn work(args: &RunArgs, name: &str, config: &Settings) -> Result<(), CliError> {
    let text = match (&args.file, &args.script) {
        (Some(_), first) => first.as_deref().or(args.arguments.as_deref()),
        (None, _) => args.arguments.as_deref(),
    };
    let variables = arguments::read(args, text, false)?.variables()?;
    let rendered = prompt_target::render(name, config, &variables, &args.define).await?;
    let models = models(args, config, rendered.model);
    let messages = rendered.messages;
    let options = ChatOptions {
        temperature: args.temperature,
        max_tokens: args.max_tokens,
        ..ChatOptions::default()
    };
    let options = options.or_defaults(rendered.options);
    if args.dry_run {
        return show_requests(args, &models, &messages, &options);
    }
    let door = agents::models(config)?;
    let asking = PromptRequest {
        args,
        config,
        behind: components::configured_model(config, &door)?,
        door,
        messages,
        options,
    };
    match models.as_slice() {
        [only] => asking.one(only).await,
        all => asking.each(all).await,
    }
}

/// Returns the models to call: those of `-m`, or the prompt's own, or the configured one, or the
/// mock.
fn models(args: &RunArgs, config: &Settings, own: Option<String>) -> Vec<String> {
    let named = args.with.models();
    if !named.is_empty() {
        return named;
    }
    let model = own.or_else(|| config.text(&settings::MODEL).map(str::to_owned));
    vec![model.unwrap_or_else(|| {
        if !args.dry_run {
            terminal::note(
                "no model is configured and the prompt sets none, so the built-in mock answers; set a model with -m",
            );
        }
        MOCK.to_owned()
    })]
}

fn show_requests(
    args: &RunArgs,
    models: &[String],
    messages: &[Message],
    options: &ChatOptions,
) -> Result<(), CliError> {
    if !args.json {
        let head = styled(&models.join(", "), TextStyle::Dim, Stream::Err.has_colour());
        terminal::note(&head);
        return Ok(terminal::line(&as_text(messages))?);
    }
    let request = |model: &String| {
        let options = serde_json::to_value(options).unwrap_or_default();
        let mut request = json!({"model": model, "messages": messages});
        if let (Some(request), Json::Object(options)) = (request.as_object_mut(), options) {
            request.extend(options);
        }
        request
    };
    let requests: Vec<Json> = models.iter().map(request).collect();
    Ok(terminal::line(&pretty(&requests))?)
}

/// A rendered prompt with its target models.
struct PromptRequest<'a> {
    args: &'a RunArgs,
    config: &'a Settings,
    door: Arc<ModelRouter>,
    behind: Arc<dyn ChatModel>,
    messages: Vec<Message>,
    options: ChatOptions,
}

/// Answer of one model.
struct ModelAnswer {
    model: String,
    reply: Reply,
    took: Duration,
    error: Option<ModelError>,
}

impl ModelAnswer {
    fn text(&self) -> &str {
        let choice = self.reply.choices.first();
        choice.map_or("", |choice| {
            if choice.text.is_empty() {
                &choice.refusal
            } else {
                &choice.text
            }
        })
    }

    /// Returns why the answer is incomplete, if it is.
    fn failure(self) -> Option<ModelError> {
        let cut = |reply: &Reply| {
            let cut = reply.ensure_complete().err()?;
            Some(ModelError::new(ModelErrorKind::Cut, cut.to_string()))
        };
        self.error.or_else(|| cut(&self.reply))
    }
}

impl PromptRequest<'_> {
    /// Calls one model and shows its answer as it streams.
    async fn one(&self, model: &str) -> Result<(), CliError> {
        let streams = !self.args.no_stream && !self.args.json;
        let mut prose = ProseWriter::new(self.config);
        let answer = self.ask(model, streams.then_some(&mut prose)).await?;
        if self.args.json {
            terminal::line(&pretty(&self.as_json(&answer)))?;
        } else {
            if !streams {
                prose.write_text(answer.text())?;
            }
            prose.end()?;
        }
        let calls = answer.reply.choices.iter().flat_map(|it| &it.tool_calls);
        for call in calls {
            let name = one_line(&call.name, 64);
            terminal::note(&format!(
                "the model called {name}, but `quillet run` does not call tools; use `quillet ask` or an agent"
            ));
        }
        answer.failure().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Calls several models one after the other and compares them.
    async fn each(&self, models: &[String]) -> Result<(), CliError> {
        let mut all = Vec::new();
        let mut prose = ProseWriter::new(self.config);
        for model in models {
            let answer = self.ask(model, None).await?;
            if !self.args.json {
                let head = styled(model, TextStyle::Bold, Stream::Out.has_colour());
                terminal::line(&head)?;
                prose.write_text(answer.text().trim_end())?;
                prose.end()?;
                terminal::result("\n")?;
            }
            all.push(answer);
        }
        if self.args.json {
            let all: Vec<Json> = all.iter().map(|answer| self.as_json(answer)).collect();
            terminal::line(&pretty(&all))?;
        } else {
            terminal::line(&self.table(&all))?
        }
        let failed = all.into_iter().find_map(ModelAnswer::failure);
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Calls a model; shows its answer as it streams if `prose` is set.
    async fn ask(
        &self,
        model: &str,
        mut prose: Option<&mut ProseWriter>,
    ) -> Result<ModelAnswer, CliError> {
        let begun = Instant::now();
        let mut answer = ModelAnswer {
            model: model.to_owned(),
            reply: Reply::default(),
            took: Duration::ZERO,
            error: None,
        };
        let request = ChatRequest {
            model: Some(model.to_owned()),
            messages: self.messages.clone(),
            options: self.options.clone(),
        };
        if let Some(refused) = RefusedParameters::of(model, &request.options) {
            terminal::warning(&refused.to_string());
        }
        let mut waiting = IdleIndicator::new();
        match waiting.until(self.behind.stream(request)).await {
            Ok(mut stream) => {
                let mut is_open = false;
                loop {
                    // The indicator clears its line, so it must not appear on a line with text.
                    let event = if is_open {
                        stream.next().await
                    } else {
                        waiting.until(stream.next()).await
                    };
                    let Some(event) = event else { break };
                    let event = match event {
                        Ok(event) => event,
                        Err(error) => {
                            answer.error = Some(error);
                            break;
                        }
                    };
                    if let (
                        Some(prose),
                        ChatEvent::Text { text, .. } | ChatEvent::Refusal { text, .. },
                    ) = (&mut prose, &event)
                    {
                        prose.write_text(text)?;
                        is_open = prose.is_open();
                    }
                    answer.reply.fold(event);
                }
            }
            Err(error) => answer.error = Some(error),
        }
        answer.took = begun.elapsed();
        Ok(answer)
    }

    fn cost(&self, answer: &ModelAnswer) -> Option<f64> {
        let facts = self.door.facts().find(&answer.model);
        facts.cost(&answer.reply.usage?)
    }

    fn as_json(&self, answer: &ModelAnswer) -> Json {
        let choice = answer.reply.choices.first();
        json!({
            "model": answer.model,
            "text": answer.text(),
            "calls": choice.map(|choice| &choice.tool_calls),
            "ending": choice.and_then(|choice| choice.finish_reason).map(|reason| reason.as_str()),
            "usage": answer.reply.usage,
            "cost_usd": self.cost(answer),
            "ms": u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX),
            "error": answer.error.as_ref().map(|error| &error.message),
        })
    }

    /// Returns a table with a line per model: time, tokens, cost and ending.
    fn table(&self, all: &[ModelAnswer]) -> String {
        let widest = all.iter().map(|answer| answer.model.chars().count()).max();
        let width = widest.unwrap_or_default().max("model".len());
        let mut lines = vec![format!(
            "{:width$}  {:>8}  {:>6}  {:>6}  {:>9}  ended",
            "model", "seconds", "in", "out", "US$"
        )];
        for answer in all {
            let usage = answer.reply.usage;
            let tokens = |tokens: Option<u64>| tokens.map_or("?".to_owned(), |it| it.to_string());
            let ended = answer.reply.choices.first().and_then(|it| it.finish_reason);
            let ended = match &answer.error {
                Some(error) => one_line(&error.message, 60),
                None => ended.map_or("?", |reason| reason.as_str()).to_owned(),
            };
            lines.push(format!(
                "{:width$}  {:>8.1}  {:>6}  {:>6}  {:>9}  {ended}",
                answer.model,
                answer.took.as_secs_f64(),
                tokens(usage.map(|it| it.input_tokens)),
                tokens(usage.map(|it| it.output_tokens)),
                self.cost(answer)
                    .map_or("?".to_owned(), |cost| format!("{cost:.5}")),
            ));
        }
        lines.join("\n")
    }
}
