//! Model calls: `$AI`, `[[X]]`, and the final answer at the end of a script.
//!
//! The interpreter evaluates the script and passes a [`HoleRequest`]. This module converts it to a
//! provider request ([`request`]) and emits the response events in the script ([`watch`]). It
//! accesses the script only through a [`ModelClient`] ([`handle`]).

mod handle;
mod meter;
mod request;
mod watch;

use std::sync::Arc;

use quillet_core::{Map, MapTable, Message as ChatMessage, Role, Value};

pub(super) use handle::ModelClient;

use self::meter::MeteredModel;
use self::watch::Watch;
use super::dialogue::{self, DialogueEntry};
use super::print::print;
use crate::answer::{self, ChoiceConstraint, ThinkingMode};
use crate::call::{self, CallSettings, Constraint, ModelAnswer, ModelCall};
use crate::error::{ErrorKind, ScriptError};
use crate::pattern::Regex;
use quillet_core::lock::lock;

/// A model request for a hole in a message.
#[derive(Debug)]
pub(super) struct HoleRequest {
    /// The variable that receives the answer.
    pub(super) variable: String,
    /// Model parameters written in the hole.
    pub(super) parameters: MapTable,
    /// The choice that constrains the answer.
    pub(super) choice: Option<ChoiceConstraint>,
    /// Text of the message before the hole.
    pub(super) prefix: String,
    /// Text of the message after the hole.
    pub(super) suffix: String,
    /// Index of the message.
    pub(super) message: usize,
    /// Role of the message.
    pub(super) role: String,
    /// Parameters and variables that override all others.
    pub(super) data: Map,
    /// Whether this message is the last action of the script.
    pub(super) closes: bool,
}

/// The answer for a hole.
#[derive(Debug)]
pub(super) struct HoleAnswer {
    /// The text for the message.
    pub(super) text: String,
    /// The value for the variable.
    pub(super) value: Value,
}

/// A model request before it is converted to the provider's format.
struct ModelQuestion {
    /// Index after the last message that the model sees.
    until: usize,
    /// Text that the answer continues.
    prefix: String,
    suffix: String,
    /// The variable that receives the answer.
    variable: String,
    /// Parameters of this call.
    parameters: Map,
    choice: Option<ChoiceConstraint>,
    /// Whether the answer is the last action of the script.
    last: bool,
    /// The role that answers, for observers.
    role: String,
}

impl ModelClient {
    /// Fills one `[[X]]` by random choice, by a listener of `llmRequest`, by a role's script, or by
    /// the model.
    pub(super) async fn fill(&self, hole: HoleRequest) -> Result<HoleAnswer, ScriptError> {
        let variable = &*hole.variable;
        // Random choices come first, because they need no request to a model.
        if let Some(choice) = hole.choice.as_ref().filter(|choice| choice.random) {
            let mut random = answer::Random::new(self.world().random());
            let text = choice.text(&choice.draw(&mut random));
            return Ok(self.text_answer(variable, text));
        }
        if self.flag("disableLlmRequest") == Some(true) {
            return Ok(self.text_answer(variable, String::new()));
        }
        if let Some(text) = self.answer_of_listener(&hole).await? {
            return Ok(self.text_answer(variable, text));
        }
        if let Some(text) = self.role_answer(&hole.role, hole.message).await? {
            return Ok(self.text_answer(variable, text));
        }
        let mut parameters = hole.parameters;
        for (name, value) in hole.data.iter() {
            parameters
                .entry(name.clone())
                .or_insert_with(|| value.clone());
        }
        let question = ModelQuestion {
            last: hole.closes && hole.prefix.is_empty() && hole.suffix.is_empty(),
            until: hole.message,
            prefix: hole.prefix,
            suffix: hole.suffix,
            variable: hole.variable.clone(),
            parameters: Map::new(parameters),
            choice: hole.choice,
            role: hole.role,
        };
        let answer = self.ask(question).await?;
        self.dialogue().change(hole.message, |entry| {
            entry.thinking.clone_from(&answer.thinking);
        });
        let value = self.result_of(&answer);
        Ok(self.answered(&hole.variable, answer.content, value))
    }

    /// Stores the answer in the variable.
    fn answered(&self, variable: &str, text: String, value: Value) -> HoleAnswer {
        self.assign(variable, value.clone());
        HoleAnswer { text, value }
    }

    fn text_answer(&self, variable: &str, text: String) -> HoleAnswer {
        self.answered(variable, text.clone(), Value::from(text))
    }

    /// `llmRequest`: a listener may answer instead of the model.
    async fn answer_of_listener(&self, hole: &HoleRequest) -> Result<Option<String>, ScriptError> {
        if !self.listens("llmRequest") {
            return Ok(None);
        }
        let messages = dialogue::values(self.dialogue().until(hole.message));
        let options = Value::Map(hole.data.clone());
        let told = self.emit("llmRequest", vec![Some(messages), Some(options)]);
        let Some(value) = told.await?.result.filter(|value| *value != Value::Null) else {
            return Ok(None);
        };
        self.mark_asked();
        Ok(Some(content_text(&value)))
    }

    /// Calls the model with the current dialogue and adds the answer to it.
    pub(super) async fn next_message(&self, parameters: Map) -> Result<Value, ScriptError> {
        let until = self.dialogue().messages().len();
        let question = ModelQuestion {
            last: self.take_closing(),
            until,
            prefix: String::new(),
            suffix: String::new(),
            variable: RESPONSE.to_owned(),
            choice: None,
            role: "assistant".to_owned(),
            parameters: parameters.clone(),
        };
        let answer = self.ask(question).await?;
        let value = self.result_of(&answer);
        self.assign(RESPONSE, value.clone());
        let flag = |name: &str| match parameters.get(name) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => self.flag(name),
        };
        if flag("pushMessage") != Some(false) {
            let all = self.parameters(&parameters);
            let generates = all.get("add_generation_prompt") != Some(&Value::Bool(false));
            let append = flag("shouldAppendResponse");
            let append = append.unwrap_or_else(|| self.appends(until, generates));
            self.push_answer(&answer, append).await?;
        }
        Ok(value)
    }

    /// Returns whether an answer becomes a new message if `shouldAppendResponse` is not set. An
    /// empty last assistant message is filled. After a nonempty one, a new message is added only
    /// with `add_generation_prompt`; after any other role, always.
    fn appends(&self, until: usize, generates: bool) -> bool {
        let dialogue = self.dialogue();
        let last = dialogue.until(until).last();
        let Some(last) = last.filter(|last| last.role == "assistant") else {
            return true;
        };
        if last.text().is_empty() {
            false
        } else {
            generates
        }
    }

    /// Stores an answer in the dialogue, as a new message or as the content of the last one.
    async fn push_answer(&self, answer: &ModelAnswer, append: bool) -> Result<(), ScriptError> {
        let content = Value::from(answer.content.as_str());
        let index = {
            let mut dialogue = self.dialogue();
            let last = dialogue.messages().len().checked_sub(1);
            let index = match last.filter(|_| !append) {
                Some(last) => last,
                None => dialogue.push(self.message(Value::Null)),
            };
            dialogue.change(index, |entry| {
                entry.content = content;
                entry.thinking.clone_from(&answer.thinking);
            });
            index
        };
        self.show(index);
        if self.listens("llmMessagePushed") {
            let message = self
                .dialogue()
                .messages()
                .get(index)
                .map(DialogueEntry::value);
            self.emit("llmMessagePushed", vec![message]).await?;
        }
        Ok(())
    }

    /// Returns the part of an answer that `llmReturnResult` selects: by default its value or text.
    fn result_of(&self, answer: &ModelAnswer) -> Value {
        let plain = || {
            answer
                .value
                .clone()
                .unwrap_or_else(|| Value::from(answer.content.as_str()))
        };
        match self
            .setting("llmReturnResult")
            .as_ref()
            .and_then(Value::as_str)
        {
            None | Some("content" | "") => plain(),
            Some(".") => Value::Map(answer.raw()),
            Some(field) => answer.raw().get(field).cloned().unwrap_or_default(),
        }
    }

    /// Calls a model with the settings of the script.
    async fn ask(&self, question: ModelQuestion) -> Result<ModelAnswer, ScriptError> {
        self.mark_asked();
        let parameters = self.parameters(&question.parameters);
        let parameters = self.emit_llm_params(parameters).await?;
        let (settings, warnings) = CallSettings::read(&parameters);
        for warning in warnings {
            self.warn("script.parameters", &warning, None);
        }
        self.check_model(&settings, &parameters);
        let ask = self.write(&question, settings, &parameters).await?;
        let watch = Watch {
            asker: self,
            role: question.role,
            closing: question.last && self.is_result(&ask),
        };
        // The time that the run waits for the model does not count as time of the script.
        let waiting = self.world().budget.waiting();
        let answer = call::ask(ask, &watch).await;
        drop(waiting);
        let answer = answer.map_err(|error| self.located(error))?;
        self.emit_llm_answer(answer, &question.variable).await
    }

    /// Returns whether the streamed text is the script's final result, because no repair request,
    /// removal of thinking or listener changes it.
    fn is_result(&self, ask: &ModelCall) -> bool {
        let plain = ask.constraint.is_none() && ask.tools.is_empty();
        let thinks = ask.settings.thinking.mode != ThinkingMode::Off;
        let changed = self.listens("llm") || self.setting("llmReturnResult").is_some();
        !self.is_inner() && plain && !thinks && !changed
    }

    /// Warns about model settings that a script should not have: keys, and a model that does not
    /// match `modelPattern`.
    fn check_model(&self, settings: &CallSettings, parameters: &Map) {
        for name in ["apiKey", "api_key", "apiUrl"] {
            if parameters.get(name).is_some() {
                let message = format!("`{name}` in a script has no effect");
                let help = "set the keys and addresses of providers in the configuration instead";
                self.warn("script.secret", &message, Some(help));
            }
        }
        let pattern = self.setting("modelPattern");
        let pattern = pattern.as_ref().and_then(Value::as_str);
        if let (Some(pattern), Some(model)) = (pattern, &settings.model)
            && let Ok(regex) = Regex::compile(pattern.trim_matches('/'), "i")
            // Warns only if the pattern is valid and definitely does not match.
            && regex.is_match(model) == Ok(false)
        {
            let message = format!("model `{model}` does not match `modelPattern`");
            self.warn("script.model_pattern", &message, None);
        }
    }

    /// Emits `llmParams`, whose listeners may change the parameters, and `llmBefore`, whose
    /// listeners only observe them.
    async fn emit_llm_params(&self, mut parameters: Map) -> Result<Map, ScriptError> {
        let given = |parameters: &Map| vec![Some(Value::Map(parameters.clone()))];
        if self.listens("llmParams") {
            let told = self.emit("llmParams", given(&parameters)).await?;
            let changed = told.arguments.into_iter().next().flatten();
            if let Some(Value::Map(changed)) = told.result.or(changed) {
                parameters = changed;
            }
        }
        if self.listens("llmBefore") {
            self.emit("llmBefore", given(&parameters)).await?;
        }
        Ok(parameters)
    }

    /// Emits `llm`. Listeners may change the answer in place or return another one.
    async fn emit_llm_answer(
        &self,
        mut answer: ModelAnswer,
        variable: &str,
    ) -> Result<ModelAnswer, ScriptError> {
        if self.listens("llm") {
            let raw = Value::Map(answer.raw());
            let told = self.emit("llm", vec![Some(raw.clone())]).await?;
            let in_place = told
                .arguments
                .into_iter()
                .next()
                .flatten()
                .filter(|after| *after != raw);
            if let Some(changed) = told
                .result
                .or(in_place)
                .filter(|value| *value != Value::Null)
            {
                answer.content = content_text(&changed);
                answer.value = changed.as_map().and_then(|map| map.get("value")).cloned();
            }
        }
        for warning in &answer.warnings {
            self.warn("script.answer", warning, None);
        }
        self.keep_hidden(&answer);
        let mut tally = lock(&self.world().tally);
        tally.usage += answer.usage;
        if let Some(mut enforced) = answer.enforced.clone() {
            variable.clone_into(&mut enforced.variable);
            tally.enforced.push(enforced);
        }
        drop(tally);
        Ok(answer)
    }

    /// Stores the hidden fields of `keepOriginal` and `keepThinking`. They never replace a field of
    /// the result.
    fn keep_hidden(&self, answer: &ModelAnswer) {
        let original = self.hidden_field_name(&["keepOriginal", "keepOrginal"], "_original");
        let thinking = self.hidden_field_name(&["keepThinking"], "_thinking");
        let own = |name: &str| {
            answer
                .value
                .as_ref()
                .and_then(Value::as_map)
                .is_some_and(|map| map.get(name).is_some())
        };
        let mut hidden = MapTable::default();
        if let Some(name) = original.filter(|name| !own(name)) {
            hidden.insert(name.into(), Value::from(answer.original.as_str()));
        }
        if let (Some(name), Some(text)) = (thinking.filter(|name| !own(name)), &answer.thinking) {
            hidden.insert(name.into(), Value::from(text.as_str()));
        }
        self.hide(Map::new(hidden));
    }

    fn hidden_field_name(&self, names: &[&str], default: &str) -> Option<String> {
        match names.iter().find_map(|name| self.setting(name))? {
            Value::Bool(true) => Some(default.to_owned()),
            Value::Str(name) if !name.is_empty() => Some(name.to_string()),
            _ => None,
        }
    }

    /// Builds the request: messages, constraint, tools.
    async fn write(
        &self,
        question: &ModelQuestion,
        settings: CallSettings,
        parameters: &Map,
    ) -> Result<ModelCall, ScriptError> {
        let world = self.world();
        let model = world.engine.models.model(settings.model.as_deref());
        let mut model = model.map_err(|message| self.fail(ErrorKind::Model, message))?;
        let output = self.setting("output");
        let constraint = match &question.choice {
            Some(choice) => Some(Constraint::Choice(choice.clone())),
            None => settings.constraint(output.as_ref()),
        };
        let (mut messages, biases) = self.request(question, &settings, output.as_ref())?;
        if !question.prefix.trim().is_empty() {
            messages.push(ChatMessage::new(
                Role::Assistant,
                question.prefix.trim_end_matches('\n'),
            ));
        }
        model.model = Arc::new(MeteredModel {
            inner: model.model,
            counter: model.counter.clone(),
            world: world.clone(),
        });
        let mut ask = ModelCall::new(model, messages);
        ask.tools = self.tools().await?;
        ask.seed = match parameters.get("seed") {
            Some(Value::Int(seed)) => seed.unsigned_abs(),
            _ => world.random(),
        };
        ask.constraint = constraint;
        ask.settings = settings;
        ask.suffix.clone_from(&question.suffix);
        ask.biases = biases;
        // Constraints and tools are still added, so that a dry run shows the complete request.
        ask.dry = world.withheld.is_some();
        Ok(ask)
    }
}

/// Name of the variable for an answer without a named hole.
const RESPONSE: &str = "RESPONSE";

/// Returns the text of an answer from a listener: an object's `content`, or the value itself.
fn content_text(value: &Value) -> String {
    let content = value.as_map().and_then(|map| map.get("content"));
    print(Some(content.unwrap_or(value)))
}
