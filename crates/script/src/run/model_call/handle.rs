//! What asking a model may reach of the script that asks.

use std::sync::{Arc, MutexGuard};

use quillet_core::tool::Tool;
use quillet_core::{Map, Span, Value};

use crate::call::CallError;
use crate::error::{ErrorKind, ScriptError};
use crate::run::dialogue::{Dialogue, DialogueEntry};
use crate::run::events::ListenerResult;
use crate::run::failure::refuse;
use crate::run::instance::{Instance, RunShared};
use crate::run::scope::NameScope;

/// A place in a script that asks a model.
///
/// Its fields are private to this file: what stands here is all of the script that requests and
/// answers see. They evaluate nothing, and call no function but through an event.
#[derive(Clone, Debug)]
pub(in crate::run) struct ModelClient {
    script: Arc<Instance>,
    scope: NameScope,
    at: Span,
}

impl ModelClient {
    pub(in crate::run) fn new(script: &Arc<Instance>, scope: &NameScope, at: Span) -> Self {
        ModelClient {
            script: script.clone(),
            scope: scope.clone(),
            at,
        }
    }

    /// What all scripts of the run share.
    pub(super) fn world(&self) -> &Arc<RunShared> {
        &self.script.world
    }

    /// The script's messages.
    pub(super) fn dialogue(&self) -> MutexGuard<'_, Dialogue> {
        self.script.dialogue()
    }

    /// Whether another script runs this one: its words are that script's business.
    pub(super) fn is_inner(&self) -> bool {
        self.script.is_inner()
    }

    /// The name that the script speaks under.
    pub(super) fn own_name(&self) -> String {
        self.script.own_name()
    }

    pub(super) fn setting(&self, name: &str) -> Option<Value> {
        self.script.setting(name)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.script.flag(name)
    }

    /// The parameters of a call by their rank, with its own.
    pub(super) fn parameters(&self, own: &Map) -> Map {
        let world = self.world();
        let state = self.script.state();
        state.call_parameters(own, &world.parameters, world.stream)
    }

    /// Gives a variable the value that a model answered.
    pub(super) fn assign(&self, variable: &str, value: Value) {
        self.world().kept.add(value.weight());
        self.script.state().answer(variable, value);
    }

    /// What belongs to the result to come without being part of it.
    pub(super) fn hide(&self, beside: Map) {
        self.script.state().coming = beside;
    }

    /// Whoever answers: the end of the script need not ask again.
    pub(super) fn mark_asked(&self) {
        self.script.state().asked = true;
    }

    /// Whether the answer is the last thing of the script; that holds for one answer.
    pub(super) fn take_closing(&self) -> bool {
        std::mem::take(&mut self.script.state().closing)
    }

    /// The tools that the model is offered.
    pub(super) async fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, ScriptError> {
        self.script.tools(&self.scope, self.at).await
    }

    /// What the script of a role answers to the messages before an index.
    pub(super) async fn role_answer(
        &self,
        role: &str,
        until: usize,
    ) -> Result<Option<String>, ScriptError> {
        self.script
            .role_answer(role, until, &self.scope, self.at)
            .await
    }

    pub(super) fn listens(&self, event: &str) -> bool {
        self.script.listens(event)
    }

    /// Raises an event.
    pub(super) async fn emit(
        &self,
        event: &str,
        arguments: Vec<Option<Value>>,
    ) -> Result<ListenerResult, ScriptError> {
        self.script
            .emit(event, arguments, &self.scope, self.at)
            .await
    }

    /// A message of the assistant at this place.
    pub(super) fn message(&self, content: Value) -> DialogueEntry {
        DialogueEntry::done("assistant", content, self.scope.clone(), self.at)
    }

    /// Tells the observer of a message.
    pub(super) fn show(&self, at: usize) {
        self.script.show(at);
    }

    /// Tells the author something about this place.
    pub(super) fn warn(&self, code: &'static str, message: &str, help: Option<&str>) {
        let finding = self.scope.source.warning(code, message, self.at);
        self.world().warn(match help {
            Some(help) => finding.help(help),
            None => finding,
        });
    }

    /// A failure at this place.
    pub(super) fn fail(&self, kind: ErrorKind, message: String) -> ScriptError {
        let finding = self.scope.source.error(kind.code(), message, self.at);
        ScriptError::new(kind, finding)
    }

    /// That something of the script is not what the request takes.
    pub(super) fn refuse(&self, message: String) -> ScriptError {
        refuse(&self.scope, self.at, message)
    }

    /// A failure of a call, at this place if it has none of its own.
    pub(super) fn located(&self, error: CallError) -> ScriptError {
        let mut error = error.into_script_error(&self.scope.source.name);
        self.script.locate(&mut error, &self.scope, self.at);
        error
    }

    /// Refuses to ask again where the run may not.
    pub(super) fn check_budget(&self, model: &str, has_price: bool) -> Result<(), ScriptError> {
        let budget = &self.world().budget;
        budget.check_spent((model, has_price), &self.scope, self.at)?;
        budget.model_call(&self.scope, self.at)
    }
}
