//! Asking a model: `$AI`, `[[X]]`, and the call at the end of a script.

use std::sync::Arc;

use quillet_core::{Map, Message as ChatMessage, Role, Span, Table, Value};

use super::instance::{Instance, lock};
use super::messages::print;
use super::meter::Metered;
use super::params::Params;
use super::scope::Scope;
use super::state::{Entry, Stage};
use super::values::refuse_with;
use super::watch::Watch;
use crate::answer::{self, Choice, Mode};
use crate::argument::{ArgumentValue, Words};
use crate::call::{self, Answer, Ask, Constraint, OUTSIDE_PARAMETERS, Settings};
use crate::error::{ErrorKind, ScriptError};
use crate::expression::Found;
use crate::pattern::Regex;
use crate::syntax::{ItemKind, Text};

/// What a message's hole asks a model for.
#[derive(Debug)]
pub(super) struct Wish {
    /// The variable that gets the answer.
    pub(super) variable: String,
    /// What stands behind its colon.
    pub(super) arguments: Option<Text>,
    /// The message's text before the hole.
    pub(super) prefix: String,
    /// And after it.
    pub(super) suffix: String,
    /// The message's index.
    pub(super) message: usize,
    /// Parameters and variables that go before all others.
    pub(super) data: Map,
}

/// What a hole got.
#[derive(Debug)]
pub(super) struct Granted {
    /// What the message says.
    pub(super) text: String,
    /// What the variable is.
    pub(super) value: Value,
}

/// One question to a model, before it is written as a request.
pub(super) struct Question {
    /// Messages of the dialogue that it sees: those before this index.
    pub(super) until: usize,
    /// What the answer goes on from.
    prefix: String,
    suffix: String,
    /// The variable that gets the answer.
    variable: String,
    /// Parameters of this call.
    parameters: Map,
    pub(super) choice: Option<Choice>,
    /// Whether the script has nothing more to do once it is answered.
    last: bool,
    /// The role that answers, for observers.
    role: String,
}

impl Instance {
    /// Fills one `[[X]]`: at random, by a listener of `llmRequest`, by a role's script, or by the
    /// model.
    pub(super) async fn wish(
        self: &Arc<Self>,
        entry: &Entry,
        wish: Wish,
    ) -> Result<Granted, ScriptError> {
        let (mut parameters, choice) = self.hole_parameters(&wish, entry).await?;
        if let Some(choice) = choice.as_ref().filter(|choice| choice.random) {
            return Ok(self.drawn(choice, &wish.variable));
        }
        if self.flag("disableLlmRequest") == Some(true) {
            return Ok(self.granted(&wish.variable, String::new(), Value::from("")));
        }
        if let Some(granted) = self.requested(&wish, entry).await? {
            return Ok(granted);
        }
        if let Some(granted) = self.role_answers(entry, &wish).await? {
            return Ok(granted);
        }
        for (name, value) in wish.data.iter() {
            if parameters.get(name).is_none() {
                parameters.insert(name.clone(), value.clone());
            }
        }
        let last = wish.prefix.is_empty() && wish.suffix.is_empty() && self.ends_with(entry);
        let question = Question {
            last,
            until: wish.message,
            prefix: wish.prefix,
            suffix: wish.suffix,
            variable: wish.variable.clone(),
            parameters: Map::new(parameters),
            choice,
            role: entry.role.clone(),
        };
        let answer = self.ask(question, &entry.scope, entry.span).await?;
        self.change(wish.message, |entry| {
            entry.thinking.clone_from(&answer.thinking)
        });
        let value = self.result_of(&answer);
        Ok(self.granted(&wish.variable, answer.content, value))
    }

    /// `[[X:temperature=0.1, |a|b]]`: parameters of the model, and a choice.
    async fn hole_parameters(
        self: &Arc<Self>,
        wish: &Wish,
        entry: &Entry,
    ) -> Result<(Table, Option<Choice>), ScriptError> {
        let Some(text) = &wish.arguments else {
            return Ok((Table::default(), None));
        };
        let read = self.read_arguments(text, &entry.scope, Words::Text)?;
        let mut chosen = None;
        for item in &read.items {
            if let ArgumentValue::Choice(choice) = &item.value {
                chosen = Some(self.choice(choice, &entry.scope, entry.span).await?);
            }
        }
        let params = self.bound(&read, Words::Text, &entry.scope).await?;
        let mut table = params.named.to_table();
        let random = |name: &str| table.get(name).and_then(Value::as_str) == Some("random");
        let bare = params
            .positional
            .iter()
            .flatten()
            .any(|value| value.as_str() == Some("random"));
        if let Some(choice) = chosen.as_mut() {
            choice.random |= random("type") || bare;
        }
        table.shift_remove("choice");
        self.refuse_misspelt(table.keys().map(|name| &**name), &entry.scope, entry.span)?;
        Ok((table, chosen))
    }

    /// A setting of a model that is nearly one, and no variable of the script either.
    pub(super) fn refuse_misspelt<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        scope: &Scope,
        at: Span,
    ) -> Result<(), ScriptError> {
        for name in names {
            let variable = || matches!(self.lookup(name, scope), Found::Value(_));
            if let Some(near) = Settings::meant(name).filter(|_| !variable()) {
                let why = format!("a model has no setting `{name}`");
                let help = format!("did you mean `{near}`?");
                return Err(refuse_with(scope, at, why, help));
            }
        }
        Ok(())
    }

    fn drawn(&self, choice: &Choice, variable: &str) -> Granted {
        let mut random = answer::Random::new(self.world.random());
        let picked = choice.draw(&mut random);
        let text = choice.text(&picked);
        self.granted(variable, text.clone(), Value::from(text))
    }

    /// Gives the variable its value.
    pub(super) fn granted(&self, variable: &str, text: String, value: Value) -> Granted {
        self.world.kept.add(value.weight());
        self.state().answer(variable, value.clone());
        Granted { text, value }
    }

    /// `llmRequest`: a listener may answer in the model's place.
    async fn requested(
        self: &Arc<Self>,
        wish: &Wish,
        entry: &Entry,
    ) -> Result<Option<Granted>, ScriptError> {
        if !self.listens("llmRequest") {
            return Ok(None);
        }
        let messages = {
            let state = self.state();
            let seen = state.messages.iter().take(wish.message).map(Entry::value);
            Value::from(seen.collect::<Vec<_>>())
        };
        let options = Value::Map(wish.data.clone());
        let told = self
            .emit(
                "llmRequest",
                vec![Some(messages), Some(options)],
                &entry.scope,
                entry.span,
            )
            .await?;
        let Some(value) = told.result.filter(|value| *value != Value::Null) else {
            return Ok(None);
        };
        // Whoever answers: the end of the script need not ask again.
        self.state().asked = true;
        let text = content_text(&value);
        Ok(Some(self.granted(
            &wish.variable,
            text.clone(),
            Value::from(text),
        )))
    }

    /// `$AI`, and `$tool: llm`.
    pub(super) async fn ai(
        self: &Arc<Self>,
        params: &Params,
        scope: &Scope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let given = params.named.clone();
        self.refuse_misspelt(given.iter().map(|(name, _)| &**name), scope, at)?;
        let asked_before = self.asked_by_hole();
        self.render_messages_with(Some(&given)).await?;
        if asked_before {
            return Ok(self.state().last.clone());
        }
        self.ask_and_push(given, scope, at).await
    }

    /// Whether the last message has an open `[[X]]`: `$AI` fills that, and asks nothing more.
    fn asked_by_hole(&self) -> bool {
        let state = self.state();
        let waits = |entry: &Entry| entry.stage == Stage::Holes && entry.role != "user";
        state.messages.last().is_some_and(waits)
    }

    /// Asks with the dialogue as it stands, and puts the answer into it.
    pub(super) async fn ask_and_push(
        self: &Arc<Self>,
        parameters: Map,
        scope: &Scope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let until = self.state().messages.len();
        let last = std::mem::take(&mut self.state().closing);
        let question = Question {
            last,
            until,
            prefix: String::new(),
            suffix: String::new(),
            variable: "RESPONSE".to_owned(),
            choice: None,
            role: "assistant".to_owned(),
            parameters: parameters.clone(),
        };
        let answer = self.ask(question, scope, at).await?;
        let value = self.result_of(&answer);
        self.state().answer("RESPONSE", value.clone());
        let flag = |name: &str| match parameters.get(name) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => self.flag(name),
        };
        if flag("pushMessage") != Some(false) {
            let generates = self.call_parameters(&parameters);
            let generates = generates.get("add_generation_prompt") != Some(&Value::Bool(false));
            let append = flag("shouldAppendResponse");
            let append = append.unwrap_or_else(|| self.appends(until, generates));
            self.push_answer(&answer, append, scope, at).await?;
        }
        Ok(Some(value))
    }

    /// Whether an answer is a new message where `shouldAppendResponse` says nothing:
    /// always with `add_generation_prompt`, or else unless the last message has text. An empty
    /// message of the assistant waits to be filled.
    fn appends(&self, until: usize, generates: bool) -> bool {
        let state = self.state();
        let last = until.checked_sub(1).and_then(|at| state.messages.get(at));
        let Some(last) = last.filter(|last| last.role == "assistant") else {
            return true;
        };
        match last.text().is_empty() {
            true => false,
            false => generates,
        }
    }

    /// Puts an answer into the dialogue: as a new message, or as the text of the last one.
    async fn push_answer(
        self: &Arc<Self>,
        answer: &Answer,
        append: bool,
        scope: &Scope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let content = Value::from(answer.content.as_str());
        let index = {
            let mut state = self.state();
            match state.messages.last_mut().filter(|_| !append) {
                Some(last) => last.content = content,
                None => state
                    .messages
                    .push(Entry::done("assistant", content, scope.clone(), at)),
            }
            state.messages.len() - 1
        };
        self.change(index, |entry| entry.thinking.clone_from(&answer.thinking));
        self.show(index);
        if self.listens("llmMessagePushed") {
            let message = self.state().messages.get(index).map(Entry::value);
            self.emit("llmMessagePushed", vec![message], scope, at)
                .await?;
        }
        Ok(())
    }

    /// What a script gets of an answer: its text or value, or as `llmReturnResult` says.
    fn result_of(&self, answer: &Answer) -> Value {
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

    /// Asks a model, with everything that the script says about how.
    async fn ask(
        self: &Arc<Self>,
        question: Question,
        scope: &Scope,
        at: Span,
    ) -> Result<Answer, ScriptError> {
        self.state().asked = true;
        let parameters = self.call_parameters(&question.parameters);
        let parameters = self.told_parameters(parameters, scope, at).await?;
        let (settings, warnings) = Settings::read(&parameters);
        for warning in warnings {
            self.world
                .warn(scope.source.warning("script.parameters", warning, at));
        }
        self.check_model(&settings, &parameters, scope, at);
        let last = question.last;
        let ask = self
            .question(question, settings, &parameters, scope, at)
            .await?;
        let closing = last && self.is_result(&ask.0);
        let variable = ask.1;
        let watch = Watch {
            instance: self.clone(),
            scope: scope.clone(),
            at,
            role: ask.2,
            closing,
        };
        // The time of the model is not the script's own.
        let waiting = self.world.budget.waiting();
        let answer = call::ask(ask.0, &watch).await;
        drop(waiting);
        let answer = answer.map_err(|error| {
            let mut error = error.into_script_error(&scope.source.name);
            self.locate(&mut error, scope, at);
            error
        })?;
        self.told_answer(answer, &variable, scope, at).await
    }

    /// Whether a message is the last thing that the outermost script says, and its result.
    fn ends_with(&self, entry: &Entry) -> bool {
        let last = self
            .resolved
            .script
            .body
            .items
            .last()
            .map(|item| &item.kind);
        let is_last =
            matches!(last, Some(ItemKind::Message(last)) if last.content.span == entry.span);
        is_last && entry.role != "user" && self.state().given.is_none()
    }

    /// Whether the text of an answer is the script's result as it comes: nothing asks again for its
    /// form, takes thinking out of it, or changes it.
    fn is_result(&self, ask: &Ask) -> bool {
        let plain = ask.constraint.is_none() && ask.tools.is_empty();
        let thinks = ask.settings.thinking.mode != Mode::Off;
        let changed = self.listens("llm") || self.setting("llmReturnResult").is_some();
        !self.is_inner() && plain && !thinks && !changed
    }

    /// What a script should not say about its model: keys, and a model that its pattern does not
    /// name.
    fn check_model(&self, settings: &Settings, parameters: &Map, scope: &Scope, at: Span) {
        for name in ["apiKey", "api_key", "apiUrl"] {
            if parameters.get(name).is_some() {
                let message = format!("`{name}` in a script has no effect");
                let finding = scope.source.warning("script.secret", message, at);
                self.world.warn(
                    finding.help("keys and addresses of providers belong into the configuration"),
                );
            }
        }
        let pattern = self.setting("modelPattern");
        let pattern = pattern.as_ref().and_then(Value::as_str);
        if let (Some(pattern), Some(model)) = (pattern, &settings.model)
            && let Ok(regex) = Regex::compile(pattern.trim_matches('/'), "i")
            && regex.is_match(model) == Ok(false)
        {
            let message = format!("the model `{model}` is none that `modelPattern` names");
            self.world
                .warn(scope.source.warning("script.model_pattern", message, at));
        }
    }

    /// Parameters by their rank: the call's, `prompt`, `parameters`; whoever runs the script wins
    /// over all.
    fn call_parameters(&self, own: &Map) -> Map {
        let state = self.state();
        let mut table = Table::default();
        for name in OUTSIDE_PARAMETERS {
            if let Some(value) = state.variables.get(name) {
                table.insert(name.into(), value.clone());
            }
        }
        if let Some(stream) = state.variables.get("llmStream") {
            table.insert("stream".into(), stream.clone());
        }
        table.extend(
            state
                .parameters
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        for (name, value) in &state.prompt {
            if !state.answered.contains(name) {
                table.insert(name.clone(), value.clone());
            }
        }
        drop(state);
        table.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
        let world = self.world.parameters.iter();
        table.extend(world.map(|(key, value)| (key.clone(), value.clone())));
        let stream = Value::Bool(self.world.stream);
        table.entry("stream".into()).or_insert(stream);
        Map::new(table)
    }

    /// `llmParams` may change the parameters; `llmBefore` only hears of them.
    async fn told_parameters(
        self: &Arc<Self>,
        parameters: Map,
        scope: &Scope,
        at: Span,
    ) -> Result<Map, ScriptError> {
        let mut parameters = parameters;
        if self.listens("llmParams") {
            let told = self
                .emit(
                    "llmParams",
                    vec![Some(Value::Map(parameters.clone()))],
                    scope,
                    at,
                )
                .await?;
            let changed = told.arguments.into_iter().next().flatten();
            if let Some(Value::Map(changed)) = told.result.or(changed) {
                parameters = changed;
            }
        }
        if self.listens("llmBefore") {
            self.emit(
                "llmBefore",
                vec![Some(Value::Map(parameters.clone()))],
                scope,
                at,
            )
            .await?;
        }
        Ok(parameters)
    }

    /// `llm` may change the answer: by what it returns, or in place.
    async fn told_answer(
        self: &Arc<Self>,
        mut answer: Answer,
        variable: &str,
        scope: &Scope,
        at: Span,
    ) -> Result<Answer, ScriptError> {
        if self.listens("llm") {
            let raw = Value::Map(answer.raw());
            let told = self.emit("llm", vec![Some(raw.clone())], scope, at).await?;
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
            self.world
                .warn(scope.source.warning("script.answer", warning, at));
        }
        self.keep_hidden(&answer);
        let mut tally = lock(&self.world.tally);
        tally.usage += answer.usage;
        if let Some(mut enforced) = answer.enforced.clone() {
            variable.clone_into(&mut enforced.variable);
            tally.enforced.push(enforced);
        }
        drop(tally);
        Ok(answer)
    }

    /// `keepOriginal` and `keepThinking`: fields beside the result, never over one of
    /// its own.
    fn keep_hidden(&self, answer: &Answer) {
        let original = self.kept_name(&["keepOriginal", "keepOrginal"], "_original");
        let thinking = self.kept_name(&["keepThinking"], "_thinking");
        let own = |name: &str| {
            answer
                .value
                .as_ref()
                .and_then(Value::as_map)
                .is_some_and(|map| map.get(name).is_some())
        };
        let mut hidden = Table::default();
        if let Some(name) = original.filter(|name| !own(name)) {
            hidden.insert(name.into(), Value::from(answer.original.as_str()));
        }
        if let (Some(name), Some(text)) = (thinking.filter(|name| !own(name)), &answer.thinking) {
            hidden.insert(name.into(), Value::from(text.as_str()));
        }
        self.state().coming = Map::new(hidden);
    }

    fn kept_name(&self, names: &[&str], default: &str) -> Option<String> {
        match names.iter().find_map(|name| self.setting(name))? {
            Value::Bool(true) => Some(default.to_owned()),
            Value::Str(name) if !name.is_empty() => Some(name.to_string()),
            _ => None,
        }
    }

    /// Writes the question as a request: messages, constraint, tools.
    async fn question(
        self: &Arc<Self>,
        question: Question,
        settings: Settings,
        parameters: &Map,
        scope: &Scope,
        at: Span,
    ) -> Result<(Ask, String, String), ScriptError> {
        let model = self.world.engine.models.model(settings.model.as_deref());
        let model = model.map_err(|message| {
            ScriptError::new(
                ErrorKind::Model,
                scope.source.error(ErrorKind::Model.code(), message, at),
            )
        })?;
        let output = self.setting("output");
        let constraint = match &question.choice {
            Some(choice) => Some(Constraint::Choice(choice.clone())),
            None => settings.constraint(output.as_ref()),
        };
        let (mut messages, biases) = self
            .request(&question, &settings, output.as_ref(), scope, at)
            .await?;
        if !question.prefix.trim().is_empty() {
            messages.push(ChatMessage::new(
                Role::Assistant,
                question.prefix.trim_end_matches('\n'),
            ));
        }
        let mut model = model;
        model.model = Arc::new(Metered {
            inner: model.model,
            counter: model.counter.clone(),
            world: self.world.clone(),
        });
        let mut ask = Ask::new(model, messages);
        ask.tools = self.tools(scope, at).await?;
        ask.seed = match parameters.get("seed") {
            Some(Value::Int(seed)) => seed.unsigned_abs(),
            _ => self.world.random(),
        };
        ask.constraint = constraint;
        ask.settings = settings;
        ask.suffix = question.suffix;
        ask.biases = biases;
        ask.dry = self.world.withheld.is_some();
        Ok((ask, question.variable, question.role))
    }
}

/// The text of an answer that a listener gave: an object's `content`, or the value itself.
fn content_text(value: &Value) -> String {
    let content = value.as_map().and_then(|map| map.get("content"));
    print(Some(content.unwrap_or(value)))
}
