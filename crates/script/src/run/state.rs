//! Variables and functions of one running script.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use quillet_core::{Map, MapTable, Span, Value};

use super::code::InPython;
use super::instance::Instance;
use super::scope::NameScope;
use crate::call::OUTSIDE_PARAMETERS;
use crate::js::{JsTarget, Wasm};
use crate::syntax::Script;

/// Variables and functions of a running script. Its messages are in
/// [`Dialogue`](super::dialogue::Dialogue).
#[derive(Debug, Default)]
pub(crate) struct ScriptState {
    /// Values of the front matter, arguments, and values set by `$set`.
    pub(crate) variables: MapTable,
    /// The `prompt` object without its messages: answers to `[[X]]` and the preferred variables of
    /// templates.
    pub(crate) prompt: MapTable,
    /// The `parameters` object.
    pub(crate) parameters: MapTable,
    /// Variables that were set to `undefined`: they exist without a value.
    pub(crate) undefined: HashSet<Arc<str>>,
    /// Variables with text by the author, which may be a template.
    pub(crate) authored: HashSet<Arc<str>>,
    /// Names in `prompt` that hold a model's answer. They are not parameters of the next call.
    pub(crate) answered: HashSet<Arc<str>>,
    /// `LatestResult`.
    pub(crate) last: Option<Value>,
    /// The value that a chain passes on, if it differs from `last`: the answer without the text
    /// around it.
    pub(crate) answer: Option<Value>,
    /// Functions by name, without `$`.
    pub(crate) functions: HashMap<Arc<str>, Callable>,
    /// Functions that templates may call.
    pub(crate) template_functions: HashMap<Arc<str>, Callable>,
    /// Listeners by event, in the order of registration.
    pub(crate) listeners: HashMap<String, Vec<Listener>>,
    /// Variables that called scripts store here (`$ctx`), by script id.
    pub(crate) contexts: HashMap<String, MapTable>,
    /// Scripts that take part in this dialogue, by role.
    pub(crate) partners: HashMap<String, Partner>,
    /// Arguments of the script, by name.
    pub(crate) arguments: Map,
    /// The caller's argument that matches no input.
    pub(crate) given: Option<Value>,
    /// Nesting depth of events.
    pub(crate) events: usize,
    /// Whether the next call receives the last result (`$pipe`, `|`).
    pub(crate) pipes: bool,
    /// Whether the next model answer is the last action of the script.
    pub(crate) closing: bool,
    /// Whether a model was called.
    pub(crate) asked: bool,
    /// Whether the script is ready to talk (`$ready`).
    pub(crate) ready: bool,
    /// Fields next to `last` that are not part of it (`keepOriginal`, `keepThinking`).
    pub(crate) hidden: Map,
    /// Hidden fields of the result that becomes `last` next.
    pub(crate) coming: Map,
    /// Whether `last` is the line that `$print` has just written.
    pub(crate) printed: bool,
}

/// Target of a `$name` call that is not a directive.
#[derive(Clone, Debug)]
pub(crate) enum Callable {
    /// A function in the run's JavaScript.
    JavaScript(JsTarget),
    /// Another script.
    Script(Arc<Script>),
    /// `.interact` of another script.
    Interact(Arc<Script>),
    /// A Python function.
    Python(Arc<InPython>),
    /// An export of a wasm module.
    Wasm(Arc<Wasm>, String),
    /// A wasm module itself, under its name.
    WasmModule(Arc<Wasm>),
    /// A function of another script, called in the context of that script.
    Foreign(Arc<Instance>, Box<Callable>),
}

/// The listeners of an event.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    pub(super) callback: Callback,
    pub(super) once: bool,
    /// Whether the script continues if the listener fails (`onError: ignore`).
    pub(super) lenient: bool,
    /// Identifies the listener, for `$once`.
    pub(super) number: u64,
}

/// Callback of a listener.
#[derive(Clone, Debug)]
pub(crate) enum Callback {
    /// A function of the script by name. It can be removed by name.
    Named(String),
    /// A function without a name.
    Function(Callable),
    /// An expression over `event`, `arg1` and `args`.
    Expression(Arc<str>, NameScope, Span),
}

/// A started script that takes part in a dialogue.
#[derive(Clone, Debug)]
pub(crate) struct Partner {
    pub(super) instance: Arc<Instance>,
    /// Number of messages that it started with.
    pub(super) own: usize,
}

impl ScriptState {
    /// Stores a result, and the value that a chain passes on if it differs.
    pub(crate) fn finish(&mut self, value: Option<Value>, answer: Option<Value>) {
        self.last = value;
        self.answer = answer;
        // Hidden fields belong to a single result; the next result drops them.
        self.hidden = std::mem::take(&mut self.coming);
        self.printed = false;
    }

    /// Returns `LatestResult` with the hidden fields that an expression text names. They are not
    /// part of the result, so other readers do not see them.
    pub(crate) fn latest(&self, text: &str) -> Option<Value> {
        let last = self.last.clone()?;
        let named: Vec<_> = self
            .hidden
            .iter()
            .filter(|(name, _)| text.contains(&***name))
            .collect();
        match (&last, named.is_empty()) {
            (Value::Map(map), false) => {
                let mut table = map.to_table();
                table.extend(
                    named
                        .into_iter()
                        .map(|(name, value)| (name.clone(), value.clone())),
                );
                Some(Value::Map(Map::new(table)))
            }
            _ => Some(last),
        }
    }

    /// Returns the `prompt` object as scripts see it.
    pub(crate) fn prompt_value(&self, messages: Value) -> Value {
        let mut table = self.prompt.clone();
        table.insert("messages".into(), messages);
        Value::Map(Map::new(table))
    }

    /// Sets a variable in `prompt` if it exists there, otherwise in the script's variables.
    pub(crate) fn assign(&mut self, name: &str, value: Option<Value>) {
        // Computed text may come from a user or a model, so it must never be rendered as a
        // template.
        self.authored.remove(name);
        let table = if self.prompt.contains_key(name) {
            &mut self.prompt
        } else {
            &mut self.variables
        };
        self.undefined.remove(name);
        match value {
            Some(value) => {
                table.insert(name.into(), value);
            }
            None => {
                table.shift_remove(name);
                self.undefined.insert(name.into());
            }
        }
        // A value hides a function of the same name, as an assignment does in JavaScript.
        self.functions.remove(name);
    }

    /// Stores a model's answer under a name in `prompt`. It is data, even if the name held a
    /// template.
    pub(crate) fn answer(&mut self, name: &str, value: Value) {
        let name: Arc<str> = name.into();
        self.authored.remove(&name);
        self.answered.insert(name.clone());
        self.prompt.insert(name, value);
    }

    /// Stores an argument of the caller, which replaces the script's own value.
    pub(crate) fn give(&mut self, name: &Arc<str>, value: &Value) {
        self.authored.remove(name);
        if self.prompt.contains_key(name) {
            self.prompt.insert(name.clone(), value.clone());
        }
        self.variables.insert(name.clone(), value.clone());
    }

    /// Replaces the fields of `prompt`. Text that a script computed is data, not a template.
    pub(crate) fn replace_prompt(&mut self, prompt: MapTable) {
        let changed = |name: &&Arc<str>| self.prompt.get(*name) != prompt.get(*name);
        let changed: Vec<Arc<str>> = prompt.keys().filter(changed).cloned().collect();
        for name in changed {
            self.authored.remove(&name);
        }
        self.prompt = prompt;
    }

    /// Returns a setting from the front matter, `$set` or the prompt.
    pub(crate) fn setting(&self, name: &str) -> Option<&Value> {
        self.prompt.get(name).or_else(|| self.variables.get(name))
    }

    /// Merges the parameters of a model call. The precedence, highest first: parameters set by the
    /// caller of the run, those of the call itself, `prompt`, `parameters`.
    pub(crate) fn call_parameters(&self, own: &Map, outside: &Map, stream: bool) -> Map {
        let mut table = MapTable::default();
        for name in OUTSIDE_PARAMETERS {
            if let Some(value) = self.variables.get(name) {
                table.insert(name.into(), value.clone());
            }
        }
        if let Some(stream) = self.variables.get("llmStream") {
            table.insert("stream".into(), stream.clone());
        }
        let pair = |(key, value): (&Arc<str>, &Value)| (key.clone(), value.clone());
        table.extend(self.parameters.iter().map(pair));
        let prompt = self.prompt.iter();
        // Without this filter, an answer named `temperature` would change the next request.
        let prompt = prompt.filter(|(name, _)| !self.answered.contains(*name));
        table.extend(prompt.map(pair));
        table.extend(own.iter().map(pair));
        // Later entries replace earlier ones, so these lines are in order of increasing precedence.
        table.extend(outside.iter().map(pair));
        table.entry("stream".into()).or_insert(Value::Bool(stream));
        Map::new(table)
    }

    /// Returns the approximate memory it uses, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let tables = [&self.variables, &self.prompt, &self.parameters];
        let tables = tables.into_iter().chain(self.contexts.values());
        let fields = tables.flatten();
        let fields = fields.map(|(name, value)| value.weight().saturating_add(name.len()));
        let last = [&self.last, &self.answer].into_iter().flatten();
        let all = fields.chain(last.map(Value::weight));
        all.fold(0, usize::saturating_add)
    }
}
