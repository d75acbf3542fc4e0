//! The interpreter.
//!
//! [`ScriptEngine::run`] creates an [`instance::Instance`] of a script: its front matter becomes
//! variables, its functions are declared and its imports bound. Then [`control`] executes its
//! instructions in order. Messages are part of a [`dialogue`] and stay templates until they are
//! read ([`messages`], [`fill`]). [`model_call`] sends requests; [`invoke`] resolves calls by name.
//! Everything takes `&self`, because branches, listeners and tools may call back concurrently. No
//! lock is held across an await.
//!
//! `$if`, `$for`, `$while` and `$match` are in [`control`], `$on` and `$emit` in [`events`],
//! `$set`, `$get` and the like in [`variables`], files in [`files`], the web in [`web`].
//! [`directives`] dispatches all of them and implements the short ones.

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

/// The environment that all runs of a program share.
#[derive(Clone, Debug)]
pub struct ScriptEngine {
    /// Resolves model names.
    pub models: Arc<dyn ModelSource>,
    /// External tools.
    pub tools: Arc<dyn Tools>,
    /// Finds scripts.
    pub library: Arc<dyn Library>,
    /// Available template formats.
    pub templates: Arc<TemplateFactory>,
    /// Limits of each run.
    pub limits: ScriptLimits,
    /// JavaScript options. Limits are taken from `limits`, and permissions from the run. Modules
    /// are loaded from the script's own folder and from the roots, which are the folders of the
    /// search path.
    pub javascript: JsOptions,
}

/// One run of one script.
#[derive(Clone, Debug)]
pub struct ScriptRun {
    /// The script.
    pub script: Arc<Script>,
    /// Its input.
    pub arguments: ScriptInput,
    /// Whether answers are streamed. A script can override this (`parameters.stream`, `llmStream`).
    pub stream: bool,
    /// Model parameters that override the script's parameters (`model`, `temperature`…).
    pub parameters: Map,
    /// Messages of an earlier conversation, inserted after the hidden prefix.
    pub history: Vec<DialogueTurn>,
    /// Seed of random choices; `None` uses the clock.
    pub seed: Option<u64>,
    /// Permissions of the run. A dry run has no permissions: its requests are recorded, and it gets
    /// empty answers.
    pub reach: RunAccess,
    /// Receives the events of the run.
    pub observer: Arc<dyn Observer>,
}

/// The input of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ScriptInput {
    /// No input.
    #[default]
    None,
    /// Arguments by name.
    Named(Map),
    /// One value: the input with index 0 if there is one, otherwise a user message.
    Single(Value),
}

/// A message of a dialogue, in the form that is displayed and stored in chat files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DialogueTurn {
    /// The role: `system`, `user`, `assistant`, or the name of a role of the script.
    pub role: String,
    /// Its text.
    pub content: String,
    /// The speaker, if different from the role.
    pub name: Option<String>,
    /// The recipients, if the message is private.
    pub to: Vec<String>,
    /// The model's reasoning before the answer.
    pub thinking: Option<String>,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptOutcome {
    /// The script's result; `None` is JavaScript's `undefined`.
    pub value: Option<Value>,
    /// Whether the result equals the last line that `$print` wrote. A caller that displays results
    /// can then omit the result.
    pub printed: bool,
    /// Fields that `keepOriginal` and `keepThinking` add to the result.
    pub hidden: Map,
    /// The dialogue at the end, including the hidden prefix.
    pub messages: Vec<DialogueTurn>,
    /// Number of messages in the hidden prefix.
    pub prefix: usize,
    /// Total tokens of all model calls.
    pub usage: Usage,
    /// Number of model calls.
    pub model_calls: u64,
    /// How each constraint on an answer was enforced, in call order.
    pub enforced: Vec<EnforcedConstraint>,
    /// Warnings for the author.
    pub warnings: Vec<Diagnostic>,
}
