//! The interpreter.
//!
//! [`ScriptEngine::run`] makes an [`instance::Instance`] of a script: its front matter becomes variables,
//! its functions are declared, its imports bound, then its instructions are done in order
//! ([`control`]). Messages stand in a [`dialogue`] and wait as templates until somebody reads them
//! ([`messages`], [`fill`]); models are asked in [`asking`]; calls by name go through [`invoke`].
//! Everything takes `&self`: branches, listeners and tools may come back in at the same time, and
//! no lock is held over an await.
//!
//! `$if`, `$for`, `$while` and `$match` stand in [`control`], `$on` and `$emit` in [`events`],
//! `$set`, `$get` and the like in [`variables`], files in [`files`], the web in [`web`].
//! [`directives`] has an arm for each, and does those that are short.

mod budget;
pub mod call_sequence;
mod code;
mod content_parts;
mod control;
mod dialogue;
mod directives;
mod dry;
mod engine;
mod events;
mod expressions;
mod failure;
mod files;
mod fill;
mod foreign_functions;
mod functions;
mod group;
mod imports;
mod instance;
mod invoke;
mod lock;
mod media;
mod memory_meter;
mod messages;
mod model_call;
mod params;
mod parsed;
mod print;
mod scope;
mod scripts;
mod session;
mod stack;
mod state;
mod templates;
mod tools;
mod values;
mod variables;
mod web;

use std::sync::Arc;

pub use dry::{DRY_RUN, DryRunReport};
pub(crate) use group::{role_table, speaks_here};
pub use session::ScriptSession;
pub use tools::script_spec;

use quillet_core::chat::Usage;
pub use quillet_core::constraint::{EnforcedBy, EnforcedConstraint};
use quillet_core::{Diagnostic, Map, Value};
use quillet_template::TemplateFactory;

use crate::host::{ModelSource, Observer, RunAccess, ScriptLimits, Tools};
use crate::js::JsOptions;
use crate::library::Library;
use crate::syntax::Script;

/// The parts that all runs of a program share.
#[derive(Clone, Debug)]
pub struct ScriptEngine {
    /// Where models come from.
    pub models: Arc<dyn ModelSource>,
    /// Tools from outside of scripts.
    pub tools: Arc<dyn Tools>,
    /// Where scripts are found.
    pub library: Arc<dyn Library>,
    /// Formats of templates.
    pub templates: Arc<TemplateFactory>,
    /// Bounds of a run.
    pub limits: ScriptLimits,
    /// Where JavaScript runs. Its bounds are those of `limits`, its grants those of the job;
    /// its roots are folders for modules besides the script's own: those of the search path.
    pub javascript: JsOptions,
}

/// One run of one script.
#[derive(Clone, Debug)]
pub struct ScriptRun {
    /// What is run.
    pub script: Arc<Script>,
    /// What it is given.
    pub arguments: ScriptInput,
    /// Whether answers stream; a script can say otherwise (`parameters.stream`, `llmStream`).
    pub stream: bool,
    /// Parameters of models that win over those of the script (`model`, `temperature`…).
    pub parameters: Map,
    /// Turns of an earlier conversation: put behind the hidden beginning.
    pub history: Vec<DialogueTurn>,
    /// Where random choices start from; taken from the clock where `None`.
    pub seed: Option<u64>,
    /// What it may reach. A dry run reaches nothing: it records its requests, and answers are
    /// empty.
    pub reach: RunAccess,
    /// The observer.
    pub observer: Arc<dyn Observer>,
}

/// The input of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ScriptInput {
    /// Nothing.
    #[default]
    None,
    /// Values by their names.
    Named(Map),
    /// One text or value: the input of index 0, or else a message of the user.
    Single(Value),
}

/// A message of a dialogue, as people see it and as chat files keep it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DialogueTurn {
    /// Whose it is: `system`, `user`, `assistant`, or the name of a role of the script.
    pub role: String,
    /// Its text.
    pub content: String,
    /// The speaker, where it is not the role.
    pub name: Option<String>,
    /// The only ones who see it, if it is private.
    pub to: Vec<String>,
    /// What the model thought before it.
    pub thinking: Option<String>,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptOutcome {
    /// The script's result: `None` is JavaScript's `undefined`.
    pub value: Option<Value>,
    /// Whether the result is the line that `$print` wrote last: whoever shows results need not
    /// repeat it.
    pub printed: bool,
    /// Fields that `keepOriginal` and `keepThinking` add, and that do not count as the result's
    /// own.
    pub hidden: Map,
    /// The dialogue as it stands at the end, the hidden beginning too.
    pub messages: Vec<DialogueTurn>,
    /// How many of the messages are the hidden beginning.
    pub prefix: usize,
    /// Tokens of all calls of models together.
    pub usage: Usage,
    /// Calls of models that were made.
    pub model_calls: u64,
    /// How each constraint on an answer was enforced, in order.
    pub enforced: Vec<EnforcedConstraint>,
    /// What the author should know.
    pub warnings: Vec<Diagnostic>,
}
