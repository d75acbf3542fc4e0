//! What a script holds while it runs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use quillet_core::{Map, Span, Table, Value};

use super::events::Listener;
use super::group::Partner;
use super::instance::Instance;
use super::languages::InPython;
use super::scope::Scope;
use crate::js::{Target, Wasm};
use crate::syntax::Script;
use crate::text::bias::Bias;

/// The variables, messages and functions of one running script.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Front matter, arguments and what `$set` wrote.
    pub(crate) variables: Table,
    /// The `prompt` object without its messages: answers of `[[X]]` and what templates prefer.
    pub(crate) prompt: Table,
    /// The `parameters` object.
    pub(crate) parameters: Table,
    /// Variables that were set to `undefined`: they are there, and have no value.
    pub(crate) undefined: HashSet<Arc<str>>,
    /// Variables whose text is the author's and may be a template itself.
    pub(crate) authored: HashSet<Arc<str>>,
    /// Names in `prompt` that a model answered: they are no parameters of the next call.
    pub(crate) answered: HashSet<Arc<str>>,
    /// The dialogue.
    pub(crate) messages: Vec<Entry>,
    /// Whether a message waits for its holes to be filled.
    pub(crate) holes: bool,
    /// No message before this one waits for anything.
    pub(crate) pending_from: usize,
    /// How many messages every dialogue begins with, once the first separator was met.
    pub(crate) prefix: Option<usize>,
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
    pub(crate) contexts: HashMap<String, Table>,
    /// Scripts that this one talks to, by what they are to it.
    pub(crate) partners: HashMap<String, Partner>,
    /// What the script was given, by name.
    pub(crate) arguments: Map,
    /// What the caller said that no input takes.
    pub(crate) given: Option<Value>,
    /// An earlier conversation, for when the hidden beginning is there.
    pub(crate) recalled: Vec<Entry>,
    /// Where that conversation stands, from the message on that the script may say once more.
    pub(crate) greeted: Option<std::ops::Range<usize>>,
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
    JavaScript(Target),
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

/// A message of the dialogue.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Whose it is.
    pub(crate) role: String,
    /// The speaker, where it is not the role.
    pub(crate) name: Option<String>,
    /// The recipients; empty for everybody.
    pub(crate) to: Vec<String>,
    /// Whether only those that it is for see it.
    pub(crate) private: bool,
    /// What it says.
    pub(crate) content: Value,
    /// What is still to be done with it.
    pub(crate) stage: Stage,
    /// The names that were bound where it was written.
    pub(crate) scope: Scope,
    /// Its place there.
    pub(crate) span: Span,
    /// The format of its template, where it is not the script's.
    pub(crate) format: Option<String>,
    /// Words that its marks make likelier or rarer in answers.
    pub(crate) biases: Vec<Bias>,
    /// What the model thought before it.
    pub(crate) thinking: Option<String>,
    /// Whether it was reported to the observer.
    pub(crate) shown: bool,
}

/// How far a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It is a template: rendered when a model is asked or a directive reads it.
    Template,
    /// It has `[[…]]`: filled at the next instruction.
    Holes,
    /// Its holes are being filled.
    Filling,
    /// It is what it is.
    Done,
}

impl Entry {
    /// A message that is complete.
    pub(crate) fn done(role: impl Into<String>, content: Value, scope: Scope, span: Span) -> Self {
        Entry {
            role: role.into(),
            name: None,
            to: Vec::new(),
            private: false,
            content,
            stage: Stage::Done,
            scope,
            span,
            format: None,
            biases: Vec::new(),
            thinking: None,
            shown: false,
        }
    }

    /// Whether there is something to do before anybody can read it.
    pub(crate) fn waits(&self) -> bool {
        matches!(self.stage, Stage::Template | Stage::Holes)
    }

    /// Its text, if it is one.
    pub(crate) fn text(&self) -> &str {
        self.content.as_str().unwrap_or_default()
    }

    /// As scripts see it: `{role, content, …}`.
    pub(crate) fn value(&self) -> Value {
        let mut table = Table::default();
        table.insert("role".into(), Value::from(self.role.as_str()));
        table.insert("content".into(), self.content.clone());
        if let Some(name) = &self.name {
            table.insert("name".into(), Value::from(name.as_str()));
        }
        if !self.to.is_empty() {
            let to: Vec<Value> = self
                .to
                .iter()
                .map(|name| Value::from(name.as_str()))
                .collect();
            table.insert("toRole".into(), Value::from(to));
        }
        if self.private {
            table.insert("private".into(), Value::Bool(true));
        }
        if let Some(thinking) = &self.thinking {
            table.insert("thinking".into(), Value::from(thinking.as_str()));
        }
        Value::Map(Map::new(table))
    }
}

impl State {
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

    /// All messages as scripts see them.
    pub(crate) fn message_values(&self) -> Value {
        Value::from(self.messages.iter().map(Entry::value).collect::<Vec<_>>())
    }

    /// The `prompt` object as scripts see it.
    pub(crate) fn prompt_value(&self) -> Value {
        let mut table = self.prompt.clone();
        table.insert("messages".into(), self.message_values());
        Value::Map(Map::new(table))
    }

    /// Gives a variable a value, where a name of that kind already is: in `prompt` or beside it.
    pub(crate) fn assign(&mut self, name: &str, value: Option<Value>) {
        self.authored.remove(name);
        let table = match self.prompt.contains_key(name) {
            true => &mut self.prompt,
            false => &mut self.variables,
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
    pub(crate) fn replace_prompt(&mut self, prompt: Table) {
        let changed = |name: &&Arc<str>| self.prompt.get(*name) != prompt.get(*name);
        let changed: Vec<Arc<str>> = prompt.keys().filter(changed).cloned().collect();
        for name in changed {
            self.authored.remove(&name);
        }
        self.prompt = prompt;
    }

    /// Where a message index points: from the end if negative.
    pub(crate) fn index(&self, index: i64) -> Option<usize> {
        let length = self.messages.len();
        let at = match usize::try_from(index) {
            Ok(at) => at,
            Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
        };
        (at < length).then_some(at)
    }
}
