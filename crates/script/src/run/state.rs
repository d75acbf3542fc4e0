//! What a script holds while it runs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use quillet_core::{Map, MapTable, Span, Value};

use super::code::InPython;
use super::instance::Instance;
use super::scope::NameScope;
use crate::call::OUTSIDE_PARAMETERS;
use crate::js::{JsTarget, Wasm};
use crate::syntax::Script;

/// The variables and functions of one running script. Its messages stand in its dialogue.
#[derive(Debug, Default)]
pub(crate) struct ScriptState {
    /// Front matter, arguments and what `$set` wrote.
    pub(crate) variables: MapTable,
    /// The `prompt` object without its messages: answers of `[[X]]` and what templates prefer.
    pub(crate) prompt: MapTable,
    /// The `parameters` object.
    pub(crate) parameters: MapTable,
    /// Variables that were set to `undefined`: they are there, and have no value.
    pub(crate) undefined: HashSet<Arc<str>>,
    /// Variables whose text is the author's and may be a template itself.
    pub(crate) authored: HashSet<Arc<str>>,
    /// Names in `prompt` that a model answered: they are no parameters of the next call.
    pub(crate) answered: HashSet<Arc<str>>,
    /// `LatestResult`.
    pub(crate) last: Option<Value>,
    /// What a chain passes on, where it is not `last`: the answer alone of a message around it.
    pub(crate) answer: Option<Value>,
    /// Functions by the name that they are called by, without `$`.
    pub(crate) functions: HashMap<Arc<str>, Callable>,
    /// Functions that templates may call.
    pub(crate) template_functions: HashMap<Arc<str>, Callable>,
    /// Listeners by event, in the order in which they came.
    pub(crate) listeners: HashMap<String, Vec<Listener>>,
    /// What scripts that this one calls keep here (`$ctx`), by their ids.
    pub(crate) contexts: HashMap<String, MapTable>,
    /// Scripts that this one talks to, by what they are to it.
    pub(crate) partners: HashMap<String, Partner>,
    /// What the script was given, by name.
    pub(crate) arguments: Map,
    /// What the caller said that no input takes.
    pub(crate) given: Option<Value>,
    /// Depth of events whose listeners caused further events.
    pub(crate) events: usize,
    /// Whether the next call takes the last result (`$pipe`, `|`).
    pub(crate) pipes: bool,
    /// Whether the next answer of the model is the last thing of the script.
    pub(crate) closing: bool,
    /// Whether a model was asked.
    pub(crate) asked: bool,
    /// Whether the script is ready to talk (`$ready`).
    pub(crate) ready: bool,
    /// What belongs to `last` without being part of it (`keepOriginal`, `keepThinking`).
    pub(crate) hidden: Map,
    /// The same, of a result that is about to become `last`.
    pub(crate) coming: Map,
    /// Whether `last` is what `$print` has just written.
    pub(crate) printed: bool,
}

/// What `$name` calls, besides directives.
#[derive(Clone, Debug)]
pub(crate) enum Callable {
    /// A function of the run's JavaScript.
    JavaScript(JsTarget),
    /// Another script.
    Script(Arc<Script>),
    /// `.interact` of another script.
    Interact(Arc<Script>),
    /// A function in Python.
    Python(Arc<InPython>),
    /// What a wasm module exports under a name.
    Wasm(Arc<Wasm>, String),
    /// A wasm module under its own name.
    WasmModule(Arc<Wasm>),
    /// A function of another script, called as that script.
    Foreign(Arc<Instance>, Box<Callable>),
}

/// The listeners of an event.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    pub(super) callback: Callback,
    pub(super) once: bool,
    /// Whether the script goes on when it fails (`onError: ignore`).
    pub(super) lenient: bool,
    /// What tells two listeners apart, for `$once`.
    pub(super) number: u64,
}

/// What is called.
#[derive(Clone, Debug)]
pub(crate) enum Callback {
    /// A function of the script by its name: can be taken away again.
    Named(String),
    /// A function without a name.
    Function(Callable),
    /// An expression over `event`, `arg1` and `args`.
    Expression(Arc<str>, NameScope, Span),
}

/// A script that others talk to: started, and as long as its own messages.
#[derive(Clone, Debug)]
pub(crate) struct Partner {
    pub(super) instance: Arc<Instance>,
    /// How many messages it began with.
    pub(super) own: usize,
}

impl ScriptState {
    /// Remembers a result, and what a chain passes on where that is not the same.
    pub(crate) fn finish(&mut self, value: Option<Value>, answer: Option<Value>) {
        self.last = value;
        self.answer = answer;
        self.hidden = std::mem::take(&mut self.coming);
        self.printed = false;
    }

    /// `LatestResult` for a text that speaks of it: with the fields beside it that the text names.
    /// They are not the result's own, so nothing else sees them.
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

    /// The `prompt` object as scripts see it.
    pub(crate) fn prompt_value(&self, messages: Value) -> Value {
        let mut table = self.prompt.clone();
        table.insert("messages".into(), messages);
        Value::Map(Map::new(table))
    }

    /// Gives a variable a value, where a name of that kind already is: in `prompt` or beside it.
    pub(crate) fn assign(&mut self, name: &str, value: Option<Value>) {
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
        self.functions.remove(name);
    }

    /// Keeps the answer of a model under a name of `prompt`. It is data, whatever the name was
    /// before.
    pub(crate) fn answer(&mut self, name: &str, value: Value) {
        let name: Arc<str> = name.into();
        self.authored.remove(&name);
        self.answered.insert(name.clone());
        self.prompt.insert(name, value);
    }

    /// Gives an argument of the caller its place: before the script's own value of that name.
    pub(crate) fn give(&mut self, name: &Arc<str>, value: &Value) {
        self.authored.remove(name);
        if self.prompt.contains_key(name) {
            self.prompt.insert(name.clone(), value.clone());
        }
        self.variables.insert(name.clone(), value.clone());
    }

    /// Gives `prompt` other fields. A text that a script computed is data, not a template.
    pub(crate) fn replace_prompt(&mut self, prompt: MapTable) {
        let changed = |name: &&Arc<str>| self.prompt.get(*name) != prompt.get(*name);
        let changed: Vec<Arc<str>> = prompt.keys().filter(changed).cloned().collect();
        for name in changed {
            self.authored.remove(&name);
        }
        self.prompt = prompt;
    }

    /// A setting of the front matter, of `$set` or of the prompt.
    pub(crate) fn setting(&self, name: &str) -> Option<&Value> {
        self.prompt.get(name).or_else(|| self.variables.get(name))
    }

    /// The parameters of a call of a model by their rank: its own, `prompt`, `parameters`; those of
    /// whoever runs the script win over all.
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
        let prompt = prompt.filter(|(name, _)| !self.answered.contains(*name));
        table.extend(prompt.map(pair));
        table.extend(own.iter().map(pair));
        table.extend(outside.iter().map(pair));
        table.entry("stream".into()).or_insert(Value::Bool(stream));
        Map::new(table)
    }

    /// The bytes of what it holds in memory, about.
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
