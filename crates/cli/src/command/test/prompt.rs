//! Prompts under test: each is rendered with the test's input and sent once.

use futures_util::StreamExt;
use quillet::settings::Settings;
use quillet_core::chat::{ChatModel, ChatOptions, ChatRequest, ModelError, ModelErrorKind, Reply};
use quillet_core::{BoxFuture, Map, Message, Value, json};
use quillet_script::run::{DialogueTurn, ScriptInput, ScriptOutcome};
use quillet_script::testing::{TestRequest, TestTarget};
use quillet_script::{ErrorKind, ScriptError};

use crate::failure::CliError;
use crate::prompt_target;

/// A prompt under test: its file, or its id in the store.
pub(super) struct Prompt<'a> {
    pub(super) name: String,
    pub(super) config: &'a Settings,
}

impl TestTarget for Prompt<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, trial: TestRequest) -> BoxFuture<'_, Result<ScriptOutcome, ScriptError>> {
        Box::pin(self.once(trial))
    }
}

impl Prompt<'_> {
    async fn once(&self, mut trial: TestRequest) -> Result<ScriptOutcome, ScriptError> {
        let input = std::mem::take(&mut trial.input);
        let variables = self.variables(input)?;
        let rendered = prompt_target::render(&self.name, self.config, &variables, &[]).await;
        let rendered = rendered.map_err(|failure| self.failed(failure))?;
        let (named, mut options) = self.parameters(&trial.parameters)?;
        options = options.or_defaults(rendered.options);
        if !trial.stream {
            options.extra.insert("stream".to_owned(), false.into());
        }
        let model = named.or(rendered.model);
        let answering = trial.models.model(model.as_deref());
        let answering =
            answering.map_err(|why| ScriptError::plain(ErrorKind::Model, &self.name, why))?;
        let request = ChatRequest {
            model: answering.name.clone(),
            messages: rendered.messages.clone(),
            options: options.clone(),
        };
        trial.asks(&request);
        let reply = reply(answering.model.as_ref(), request).await;
        let reply = reply.map_err(|error| self.unanswered(error))?;
        self.outcome(&trial, &rendered.messages, &options, &reply)
    }

    fn variables(&self, input: ScriptInput) -> Result<Map, ScriptError> {
        match input {
            ScriptInput::None => Ok(Map::default()),
            ScriptInput::Named(map) => Ok(map),
            ScriptInput::Single(_) => Err(ScriptError::plain(
                ErrorKind::Input,
                &self.name,
                "the variables of a prompt need names: write input: {name: value}",
            )),
        }
    }

    /// Returns the model and the options that the test sets.
    fn parameters(&self, parameters: &Map) -> Result<(Option<String>, ChatOptions), ScriptError> {
        let model = parameters.get("model").and_then(Value::as_str);
        let rest = parameters.iter().filter(|(name, _)| &***name != "model");
        let rest: Map = rest
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let options = serde_json::from_value((&Value::Map(rest)).into()).map_err(|error| {
            let why = format!("parameters: {error}");
            ScriptError::plain(ErrorKind::Input, &self.name, why)
        })?;
        Ok((model.map(str::to_owned), options))
    }

    fn outcome(
        &self,
        trial: &TestRequest,
        messages: &[Message],
        options: &ChatOptions,
        reply: &Reply,
    ) -> Result<ScriptOutcome, ScriptError> {
        let choice = reply.ensure_complete().map_err(|cut| {
            self.unanswered(ModelError::new(ModelErrorKind::Cut, cut.to_string()))
        })?;
        for call in &choice.tool_calls {
            let arguments = json::parse(&call.arguments);
            trial.calls(
                &call.name,
                arguments.unwrap_or_else(|_| call.arguments.as_str().into()),
            );
        }
        let mut messages: Vec<DialogueTurn> = messages.iter().map(turn).collect();
        messages.push(turn(&choice.clone().into_message()));
        Ok(ScriptOutcome {
            value: Some(value(&choice.text, options)),
            messages,
            usage: reply.usage.unwrap_or_default(),
            model_calls: 1,
            ..ScriptOutcome::default()
        })
    }

    fn unanswered(&self, error: ModelError) -> ScriptError {
        let failed = ScriptError::plain(ErrorKind::Model, &self.name, error.message.clone());
        ScriptError {
            model: Some(Box::new(error)),
            ..failed
        }
    }

    /// Creates the error for a failed render, with locations if known.
    fn failed(&self, failure: CliError) -> ScriptError {
        match failure {
            CliError::Findings(found) if !found.is_empty() => {
                let failed = ScriptError::plain(ErrorKind::Template, &self.name, "");
                let diagnostics = found.into_iter().map(|finding| finding.diagnostic);
                ScriptError {
                    diagnostics: diagnostics.collect(),
                    ..failed
                }
            }
            other => ScriptError::plain(ErrorKind::Template, &self.name, other.to_string()),
        }
    }
}

async fn reply(model: &dyn ChatModel, request: ChatRequest) -> Result<Reply, ModelError> {
    let mut stream = model.stream(request).await?;
    let mut reply = Reply::default();
    while let Some(event) = stream.next().await {
        reply.fold(event?);
    }
    Ok(reply)
}

/// Converts the response: a JSON value if the prompt requests JSON, or else a text.
fn value(text: &str, options: &ChatOptions) -> Value {
    let read = options
        .wants_json()
        .then(|| json::parse(text).ok())
        .flatten();
    read.unwrap_or_else(|| text.into())
}

fn turn(message: &Message) -> DialogueTurn {
    DialogueTurn {
        role: message.role.as_str().to_owned(),
        content: message.content.to_string(),
        thinking: message.reasoning.clone(),
        ..DialogueTurn::default()
    }
}
