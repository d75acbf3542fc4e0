//! Runs a script from start to result, and calls other scripts.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, MapTable, Span, Value, budget};
use quillet_yaml::{Node, NodeData};
use tokio::task::JoinSet;

use super::ScriptInput;
use super::call_sequence;
use super::control::{Flow, ScriptFrame};
use super::dialogue::{DialogueEntry, MessageStage};
use super::failure::{broke, input_error, limit, refuse};
use super::instance::Instance;
use super::model_call::ModelClient;
use super::params::CallParams;
use super::scope::NameScope;
use crate::answer::{InputProblem, Inputs};
use crate::error::{ErrorKind, ScriptError};
use crate::library::{ResolvedScript, resolve};
use crate::syntax::Script;
use crate::text::prefix::TextPosition;

/// Keys that a caller cannot set, unless `ProtectedStartup` lists fewer.
const PROTECTED: [&str; 12] = [
    "_id",
    "_hash",
    "type",
    "input",
    "output",
    "prompt",
    "parameters",
    "templateFormat",
    "formatStringStrategy",
    "import",
    "export",
    "tools",
];

impl Instance {
    /// Runs the script: setup, body, and the automatic final answer.
    pub(crate) async fn run(
        self: &Arc<Self>,
        input: ScriptInput,
    ) -> Result<Option<Value>, ScriptError> {
        self.start(input).await?;
        self.body().await?;
        match self.world.exited() {
            Some(value) => Ok(value),
            None => Ok(self.state().last.clone()),
        }
    }

    /// Sets up variables, functions, imports and the messages of the front matter.
    pub(crate) async fn start(self: &Arc<Self>, input: ScriptInput) -> Result<(), ScriptError> {
        let scope = self.root();
        let messages = self.configure();
        self.check_parameters(&scope)?;
        let rest = self.bind_input(input, &scope)?;
        self.declare()?;
        self.check_permissions(&scope)?;
        self.import_all().await?;
        self.check_tools(&scope).await?;
        for script in &self.resolved.bodies {
            if let Some(node) = script.config.get("on") {
                self.on_list(node, &NameScope::of(&script.source))?;
            }
        }
        self.state().given = rest;
        self.put_configured(&messages, &scope).await
    }

    /// Stores the front matter as variables, `prompt` and `parameters`. Returns `prompt.messages`.
    fn configure(&self) -> Vec<Value> {
        let config = &self.resolved.config;
        let mut state = self.state();
        for (name, value) in config.iter() {
            match (&**name, value) {
                ("prompt", Value::Map(prompt)) => state.prompt = prompt.to_table(),
                ("parameters", Value::Map(parameters)) => state.parameters = parameters.to_table(),
                ("import" | "export" | "on" | "extends" | "test", _) => {}
                _ => {
                    state.variables.insert(name.clone(), value.clone());
                    state.authored.insert(name.clone());
                }
            }
        }
        let names: Vec<Arc<str>> = state.prompt.keys().cloned().collect();
        state.authored.extend(names);
        match state.prompt.shift_remove("messages") {
            Some(Value::List(messages)) => messages.as_slice().to_vec(),
            _ => Vec::new(),
        }
    }

    /// Warns about misspelled settings in the `parameters` of the front matter, which would have no
    /// effect.
    fn check_parameters(&self, scope: &NameScope) -> Result<(), ScriptError> {
        let written = self.resolved.script.config.get("parameters");
        for entry in written.and_then(Node::entries).unwrap_or_default() {
            self.refuse_misspelt(std::iter::once(entry.name()), scope, entry.key.span)?;
        }
        Ok(())
    }

    /// Adds the messages of `prompt.messages`, with marks, templates and holes like those in the
    /// body.
    async fn put_configured(
        self: &Arc<Self>,
        messages: &[Value],
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        let at = config_place(&self.resolved.script.config, "prompt");
        for message in messages {
            let mut entry = configured_message(message, scope, at);
            match std::mem::take(&mut entry.content) {
                Value::Str(text) => {
                    // Boxed, because the call is recursive: the recipient role may have such
                    // messages too.
                    let taken = self.take_text(entry, &text, TextPosition::Argument);
                    Box::pin(taken).await?;
                }
                content => {
                    entry.content = content;
                    entry.stage = MessageStage::Template;
                    self.dialogue().push(entry);
                }
            }
        }
        Ok(())
    }

    /// Assigns the arguments to the inputs. Stores an argument that matches no input.
    fn bind_input(
        &self,
        input: ScriptInput,
        scope: &NameScope,
    ) -> Result<Option<Value>, ScriptError> {
        let declared = self.resolved.script.config.get("input");
        let at = declared.map_or(Span { start: 0, end: 0 }, |node| node.span);
        let declared = self
            .resolved
            .config
            .get("input")
            .cloned()
            .unwrap_or_default();
        let wrong = |problems| self.input_error(problems, scope, at);
        let inputs = Inputs::read(&declared).map_err(wrong)?;
        let (input, left) = placed(input, &inputs);
        if let (None, ScriptInput::Named(given)) = (&self.caller, &input)
            && let Some(problem) = inputs.misspelt(given, &self.resolved.config)
        {
            return Err(wrong(vec![problem]));
        }
        let bound = inputs.bind(input, &self.resolved.config).map_err(wrong)?;
        let open = self.unprotected();
        let mut state = self.state();
        // Declared inputs exist even without a value: `?=lang` is then `undefined`, not an error.
        let names = inputs
            .fields
            .iter()
            .map(|field| Arc::from(field.name.as_str()));
        state.undefined.extend(names);
        state.arguments = bound.values.clone();
        // An argument without an input becomes a user message. Templates can read it as `content`.
        if bound.rest.is_some() || left.is_some() {
            state.undefined.insert("content".into());
        }
        for (name, value) in bound.values.iter() {
            if PROTECTED.contains(&&**name) && !open.iter().any(|known| known == &**name) {
                continue;
            }
            match (&**name, value) {
                ("prompt", Value::Map(given)) => {
                    let mut prompt = state.prompt.clone();
                    prompt.extend(given.to_table());
                    prompt.shift_remove("messages");
                    state.replace_prompt(prompt);
                }
                ("parameters", Value::Map(given)) => state.parameters.extend(given.to_table()),
                _ => state.give(name, value),
            }
        }
        Ok(bound.rest.or(left))
    }

    /// Reports invalid arguments where the input is declared: in this script or in a parent.
    fn input_error(&self, problems: Vec<InputProblem>, scope: &NameScope, at: Span) -> ScriptError {
        let first = problems.first().map(|problem| problem.field.clone());
        let name = first.unwrap_or_default();
        let declares = |node: &Node| match &node.data {
            NodeData::Map(entries) => entries.iter().any(|entry| entry.name() == name),
            NodeData::List(items) => items.iter().any(|item| {
                item.as_str() == Some(&name)
                    || item.get(&name).is_some()
                    || item.get("name").and_then(Node::as_str) == Some(&name)
            }),
            NodeData::Scalar(_) => false,
        };
        for script in self.resolved.bodies.iter().rev() {
            if let Some(node) = script.config.get("input").filter(|node| declares(node)) {
                return input_error(&script.source, node.span, problems);
            }
        }
        input_error(&scope.source, at, problems)
    }

    /// Returns the protected keys that the author allows callers to set.
    fn unprotected(&self) -> Vec<String> {
        let Some(Value::List(narrowed)) = self.setting("ProtectedStartup") else {
            return Vec::new();
        };
        let kept = |key: &&&str| {
            !narrowed
                .as_slice()
                .iter()
                .any(|item| item.as_str() == Some(key))
        };
        PROTECTED
            .iter()
            .filter(kept)
            .map(|key| (*key).to_owned())
            .collect()
    }

    /// Runs the bodies, parents first, then requests the automatic final answer.
    pub(crate) async fn body(self: &Arc<Self>) -> Result<(), ScriptError> {
        let returned = self.bodies().await?;
        self.render_messages().await?;
        if !returned && self.needs_final_answer() {
            let scope = self.root();
            let items = self.resolved.script.body.items.iter();
            let end = items.map(|item| item.span).next_back().unwrap_or_default();
            self.state().closing = true;
            let asker = ModelClient::new(self, &scope, end);
            let value = asker.next_message(Map::default()).await?;
            self.finish(Some(value));
        }
        self.saved(&self.root(), Span::default()).await?;
        Ok(())
    }

    /// Runs the bodies. Returns whether one of them returned.
    pub(crate) async fn bodies(self: &Arc<Self>) -> Result<bool, ScriptError> {
        for (index, script) in self.resolved.bodies.iter().enumerate() {
            let scope = NameScope::of(&script.source);
            let last = index + 1 == self.resolved.bodies.len();
            match ScriptFrame::new(self, &scope).block(&script.body).await? {
                // `$ret` in a parent's body ends only that body.
                Flow::Return if last || self.world.exits() => return Ok(true),
                Flow::Next | Flow::Return => {}
                Flow::Break(at) | Flow::Continue(at) => return Err(no_loop(&scope, at)),
            }
        }
        let begun = self.dialogue().prefix().is_some();
        if !begun {
            self.recall(&self.root(), Span::default()).await?;
        }
        self.push_user_argument().await?;
        Ok(false)
    }

    /// Adds an argument that matches no input as a user message after all messages of the script.
    async fn push_user_argument(self: &Arc<Self>) -> Result<(), ScriptError> {
        let Some(given) = self.state().given.take() else {
            return Ok(());
        };
        self.render_messages().await?;
        let entry = DialogueEntry::done("user", given, self.root(), Span { start: 0, end: 0 });
        let index = self.dialogue().push_message(entry);
        self.show(index);
        Ok(())
    }

    /// Returns whether the model must be called at the end: there are messages, and either no model
    /// was called yet or the last message is from the user.
    fn needs_final_answer(&self) -> bool {
        if self.flag("autoRunLLMIfPromptAvailable") == Some(false) {
            return false;
        }
        let asked = self.state().asked;
        let dialogue = self.dialogue();
        let Some(last) = dialogue.messages().last() else {
            return false;
        };
        // In a session, the last message of the script is its greeting, which the user answers.
        last.role == "user" || (!asked && !self.world.talks)
    }

    /// Finds a script by the name that this script uses for it.
    pub(crate) async fn find(
        self: &Arc<Self>,
        name: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Arc<Script>>, ScriptError> {
        let found = self
            .world
            .engine
            .library
            .find(name, Some(&scope.source))
            .await;
        found.map_err(|mut error| {
            self.locate(&mut error, scope, at);
            error
        })
    }

    /// Runs another script and returns its result.
    pub(crate) fn run_script<'a>(
        self: &'a Arc<Self>,
        script: Arc<Script>,
        input: ScriptInput,
        scope: &'a NameScope,
        at: Span,
    ) -> BoxFuture<'a, Result<Option<Value>, ScriptError>> {
        Box::pin(async move {
            let inner = self.inner(script, scope, at).await?;
            // A separate task has its own stack, so deeply nested scripts cannot overflow it.
            let task = inner.clone();
            // A `JoinSet` aborts the task if this future is dropped; a plain `spawn` would run on.
            let mut tasks = JoinSet::new();
            let run =
                call_sequence::within(
                    call_sequence::current(),
                    async move { task.run(input).await },
                );
            tasks.spawn(budget::charge_to_current(run));
            let ended = tasks.join_next().await;
            let value = match ended {
                Some(Ok(result)) => result.map_err(|error| {
                    let mut error = inner.chained(error);
                    self.of_caller(&mut error, scope, at);
                    error
                })?,
                _ => return Err(broke(scope, at)),
            };
            let hidden = std::mem::take(&mut inner.state().hidden);
            self.state().coming = hidden;
            Ok(value)
        })
    }

    /// Runs another script with the arguments as written. Values passed on by a chain may have any
    /// names.
    pub(crate) async fn call_script(
        self: &Arc<Self>,
        script: Arc<Script>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        self.check_names(&script, &params.named, scope, at).await?;
        self.run_script(script, params.for_script(), scope, at)
            .await
    }

    /// Rejects an argument name that resembles an input of the called script.
    pub(crate) async fn check_names(
        &self,
        script: &Arc<Script>,
        named: &Map,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        if named.is_empty() {
            return Ok(());
        }
        let resolved = resolve(script.clone(), &*self.world.engine.library).await?;
        let declared = resolved.config.get("input").cloned().unwrap_or_default();
        // Invalid declarations are reported when the script starts.
        let Ok(inputs) = Inputs::read(&declared) else {
            return Ok(());
        };
        match inputs.misspelt(named, &resolved.config) {
            None => Ok(()),
            Some(problem) => {
                let message = format!("`{}` has an unknown input `{}`", resolved.id, problem.field);
                let code = ErrorKind::Input.code();
                let finding = scope.source.error(code, message, at);
                let finding = finding.help(problem.help.unwrap_or_default());
                Err(ScriptError::new(ErrorKind::Input, finding))
            }
        }
    }

    /// Moves an error in a built-in script to the call, because users do not have the built-in
    /// file.
    fn of_caller(&self, error: &mut ScriptError, scope: &NameScope, at: Span) {
        if let Some(first) = error.diagnostics.first_mut()
            && first.source.starts_with("builtin/")
            && !scope.source.name.starts_with("builtin/")
        {
            first.source.clone_from(&scope.source.name);
            *first = first.clone().at(&scope.source.text, at);
        }
    }

    /// Creates an instance of another script, ready to start.
    pub(crate) async fn inner(
        self: &Arc<Self>,
        script: Arc<Script>,
        scope: &NameScope,
        at: Span,
    ) -> Result<Arc<Instance>, ScriptError> {
        let most = self.world.budget.limits().depth;
        // Checked before the script is resolved, so that endless recursion stops cheaply.
        if self.chain.len() >= most {
            let mut chain = self.chain.clone();
            chain.push(crate::library::id(&script).to_owned());
            let message = format!(
                "too many nested scripts (limit {most}): {}",
                shortened(&chain)
            );
            return Err(limit(scope, at, message, "limits.depth"));
        }
        let library = self.world.engine.library.clone();
        let resolved = resolve(script, &*library).await?;
        Instance::of(self.world.clone(), resolved, Some(self.clone()))
    }

    /// Creates an instance of a script with its tool permissions.
    pub(crate) fn of(
        world: Arc<super::instance::RunShared>,
        resolved: ResolvedScript,
        caller: Option<Arc<Instance>>,
    ) -> Result<Arc<Instance>, ScriptError> {
        let mut instance = Instance::new(world, Arc::new(resolved), caller);
        instance.read_permissions()?;
        let instance = Arc::new(instance);
        instance.world.kept.holder(&instance);
        Ok(instance)
    }

    /// Adds the chain of running scripts to an error.
    fn chained(&self, mut error: ScriptError) -> ScriptError {
        if error.chain.is_empty() {
            error.chain.clone_from(&self.chain);
        }
        error
    }

    /// Returns whether another script called this one.
    pub(crate) fn is_inner(&self) -> bool {
        self.caller.is_some()
    }

    /// Adds a location to an error that has none.
    pub(crate) fn locate(&self, error: &mut ScriptError, scope: &NameScope, at: Span) {
        if let Some(first) = error.diagnostics.first_mut()
            && first.span.is_none()
        {
            let placed = first.clone().at(&scope.source.text, at);
            *first = placed;
            first.source.clone_from(&scope.source.name);
        }
    }
}

/// Returns the error for `$break` or `$continue` outside of a loop.
fn no_loop(scope: &NameScope, at: Span) -> ScriptError {
    let message = "use `$break` and `$continue` in the `do` of a loop";
    refuse(scope, at, message)
}

/// Reads a message of `prompt.messages`: `{role, content}`, or the short forms `{role: text}` and
/// plain text.
fn configured_message(message: &Value, scope: &NameScope, at: Span) -> DialogueEntry {
    let map = message.as_map();
    let text = |key: &str| map.and_then(|map| map.get(key)).and_then(Value::as_str);
    let short = map.and_then(|map| map.iter().next().filter(|_| map.iter().len() == 1));
    let (role, content) = match (map.and_then(|map| map.get("content")), short) {
        (Some(content), _) => (text("role").unwrap_or("user"), content),
        (None, Some((role, content))) => (&**role, content),
        (None, None) => ("user", message),
    };
    let mut entry = DialogueEntry::done(role, content.clone(), scope.clone(), at);
    entry.name = text("name").map(str::to_owned);
    entry.format = text("templateFormat").map(str::to_owned);
    entry
}

/// Assigns positional arguments: `0` is the input with index 0 and overrides the value that a chain
/// passes on for it. An argument without an input is returned separately, like a single text.
fn placed(input: ScriptInput, inputs: &Inputs) -> (ScriptInput, Option<Value>) {
    let ScriptInput::Named(map) = input else {
        return (input, None);
    };
    let (places, names): (Vec<_>, Vec<_>) = map
        .iter()
        .partition(|(key, _)| key.parse::<usize>().is_ok());
    let mut table: MapTable = names
        .into_iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut rest = None;
    for (key, value) in places {
        let field = key
            .parse()
            .ok()
            .and_then(|index| inputs.field_at_index(index));
        match field {
            Some(field) => {
                table.insert(field.name.as_str().into(), value.clone());
            }
            None => rest = rest.or_else(|| Some(value.clone())),
        }
    }
    (ScriptInput::Named(Map::new(table)), rest)
}

/// Formats a chain of scripts and leaves out the middle of a long one.
fn shortened(chain: &[String]) -> String {
    match chain {
        [first, second, .., last] if chain.len() > 6 => format!("{first} → {second} → … → {last}"),
        all => all.join(" → "),
    }
}

/// Returns the span of a front matter key, or the start of the file.
pub(crate) fn config_place(config: &Node, key: &str) -> Span {
    config
        .get(key)
        .map_or(Span { start: 0, end: 0 }, |node| node.span)
}
