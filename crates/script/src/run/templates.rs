//! Templates of a script: the variables they see and the functions they call.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use quillet_core::{BoxFuture, Map, MapTable, Span, Value};
use quillet_template::{CallArguments, CallError, FunctionHost, RenderSeed};

use super::call_sequence::{self, CallSequence};
use super::dialogue::{self, DialogueEntry};
use super::instance::Instance;
use super::scope::NameScope;
use super::state::Callable;
use crate::error::{ErrorKind, ScriptError};
use crate::expression::NameValue;
use crate::library::FileSpot;
use crate::syntax::ScriptText;
use crate::text::template::{TemplateError, TemplateJob};

/// Functions that a template can call: those declared with `!fn#` or imported for templates.
#[derive(Debug)]
pub(crate) struct TemplateFunctions {
    instance: Arc<Instance>,
    scope: NameScope,
    at: Span,
    names: Vec<Arc<str>>,
    /// The call sequence of the render, in which calls are recorded.
    lane: Option<Arc<CallSequence>>,
}

impl TemplateFunctions {
    pub(crate) fn new(instance: Arc<Instance>, scope: NameScope, at: Span) -> Self {
        let names = instance
            .state()
            .template_functions
            .keys()
            .cloned()
            .collect();
        TemplateFunctions {
            instance,
            scope,
            at,
            names,
            lane: call_sequence::current(),
        }
    }

    fn function(&self, name: &str) -> Option<Callable> {
        self.instance.state().template_functions.get(name).cloned()
    }
}

impl FunctionHost for TemplateFunctions {
    fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|known| &**known == name)
    }

    fn names(&self) -> Vec<&str> {
        self.names.iter().map(|name| &**name).collect()
    }

    fn fixed(&self) -> Option<RenderSeed> {
        let world = &self.instance.world;
        let began = Duration::from_millis(world.keeps?.began_ms);
        Some(RenderSeed {
            now: SystemTime::UNIX_EPOCH + began,
            seed: world.random(),
        })
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move {
            let Some(callable) = self.function(name) else {
                return Err(CallError::new(format!(
                    "unknown template function `{name}`"
                )));
            };
            let mut given: Vec<Option<Value>> =
                arguments.positional.into_iter().map(Some).collect();
            if !arguments.named.is_empty() {
                given.push(Some(Value::Map(arguments.named)));
            }
            // Calls in one template run concurrently, so their position is derived from their name
            // and arguments and not from their order.
            let lane = self.lane.as_ref().and_then(|_| {
                let name = format!("{name}{given:?}");
                call_sequence::named(&self.lane, &name)
            });
            let called = self
                .instance
                .call_function(&callable, given, &self.scope, self.at);
            match call_sequence::within(lane, called).await {
                Ok((value, _)) => Ok(value.unwrap_or_default()),
                Err(error) => Err(CallError::new(error.message())),
            }
        })
    }
}

impl Instance {
    /// Renders a template that is used as a value.
    pub(crate) async fn render(
        self: &Arc<Self>,
        text: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<String, ScriptError> {
        self.render_template(text, None, None, scope, at).await
    }

    /// Renders a message's text.
    pub(super) async fn render_entry(
        self: &Arc<Self>,
        entry: &DialogueEntry,
        text: &str,
        data: Option<&Map>,
    ) -> Result<String, ScriptError> {
        self.render_template(
            text,
            entry.format.as_deref(),
            data,
            &entry.scope,
            entry.span,
        )
        .await
    }

    /// Renders a text in a format, by default the script's. `data` overrides other variables.
    pub(crate) async fn render_template(
        self: &Arc<Self>,
        text: &str,
        format: Option<&str>,
        data: Option<&Map>,
        scope: &NameScope,
        at: Span,
    ) -> Result<String, ScriptError> {
        let own = self.setting("templateFormat");
        let format = format
            .or(own.as_ref().and_then(Value::as_str))
            .unwrap_or("hf");
        let templates = &self.world.templates;
        // Most texts contain no template, and building the variables copies all tables.
        if !templates.needs_rendering(text, format) {
            return Ok(text.to_owned());
        }
        let variables = self.template_variables(text, data, scope);
        let functions = TemplateFunctions::new(self.clone(), scope.clone(), at);
        // If a value hides the author's template of the same name, it is data and is not rendered.
        let covered = |name: &str| {
            data.is_some_and(|data| data.get(name).is_some()) || scope.get(name).is_some()
        };
        let authored = |name: &str| !covered(name) && self.state().authored.contains(name);
        let declared = |name: &str| !matches!(self.lookup(name, scope), NameValue::Missing);
        let job = TemplateJob {
            format,
            text,
            variables: &variables,
            functions: &functions,
            limits: &self.world.engine.limits.templates,
            authored: &authored,
            declared: &declared,
        };
        let rendered = templates.render(&job).await;
        rendered.map_err(|problem| self.template_error(problem, text, scope, at))
    }

    /// Returns all variables that a template can use.
    fn template_variables(&self, text: &str, data: Option<&Map>, scope: &NameScope) -> Map {
        let state = self.state();
        // The environment is added first, so that any name in the script overrides it.
        let environment = &self.world.environment;
        let mut table = environment.to_table();
        table.insert("ENV".into(), Value::Map(environment.clone()));
        table.insert("id".into(), Value::from(self.id.as_str()));
        table.extend(
            state
                .variables
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        table.extend(
            state
                .prompt
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        if let Some(last) = state.latest(text) {
            table.entry("LatestResult".into()).or_insert(last);
        }
        // Copying the dialogue is expensive, and few templates read it.
        let prompt = if text.contains("messages") {
            state.prompt_value(dialogue::values(self.dialogue().messages()))
        } else {
            Value::Map(Map::new(state.prompt.clone()))
        };
        table.insert("prompt".into(), prompt);
        table.insert(
            "parameters".into(),
            Value::Map(Map::new(state.parameters.clone())),
        );
        // The lookups below lock the state again, and the mutex is not reentrant.
        drop(state);
        if text.contains("output") {
            self.describe_output(&mut table);
        }
        for name in ["__dirname", "__filename", "stats"] {
            if !table.contains_key(name)
                && let NameValue::Value(value) = self.lookup(name, scope)
            {
                table.insert(name.into(), value);
            }
        }
        table.extend(scope.bound());
        if let Some(data) = data {
            table.extend(data.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        Map::new(table)
    }

    /// Sets `{{output}}` to a description of the schema, unless `naturalOutput` is false.
    fn describe_output(&self, table: &mut MapTable) {
        let natural = self.state().parameters.get("naturalOutput").cloned();
        if natural == Some(Value::Bool(false)) {
            return;
        }
        if let Some(schema) = table
            .get("output")
            .filter(|schema| schema.as_map().is_some())
        {
            let words = crate::answer::describe(&schema.into());
            table.insert("output".into(), Value::from(words));
        }
    }

    /// Converts a template error to a script error. It points into the template if that can be
    /// located in the file, otherwise to the whole text.
    fn template_error(
        &self,
        problem: TemplateError,
        text: &str,
        scope: &NameScope,
        at: Span,
    ) -> ScriptError {
        let message = match &problem.variable {
            Some(variable) => format!("in the template of `{variable}`: {}", problem.message),
            None => problem.message.clone(),
        };
        let inner = problem.span.filter(|_| problem.variable.is_none());
        let place = inner
            .and_then(|span| {
                part_of(scope, text, at, span).or_else(|| within(scope, text, at, span))
            })
            .unwrap_or(at);
        let finding = scope.source.error(problem.code, message, place);
        let finding = match problem.help {
            Some(help) => finding.help(help),
            None => finding,
        };
        ScriptError::new(ErrorKind::Template, finding)
    }
}

/// Locates a part of a text that the file contains in another form, such as indented. Returns
/// `None` if markers replaced holes in the text, because their positions then differ.
fn within(scope: &NameScope, text: &str, at: Span, part: Span) -> Option<Span> {
    if text.contains('\u{f8ff}') {
        return None;
    }
    let text = ScriptText {
        span: at,
        value: text.into(),
    };
    Some(FileSpot::new(&text, part.start..part.end).span(&scope.source))
}

/// Locates a part of a text that the file contains verbatim.
fn part_of(scope: &NameScope, text: &str, at: Span, part: Span) -> Option<Span> {
    let written = scope.source.text.get(at.start..at.end)?;
    let start = at.start + written.find(text)?;
    Some(Span {
        start: start + part.start,
        end: start + part.end,
    })
}
