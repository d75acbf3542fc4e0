//! Access of model calls to the script that makes them.

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

/// A model call's access to its script.
///
/// The fields are private, so requests and answers can access only these methods. They evaluate no
/// expressions, and call functions only through events.
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

    /// Returns the state that all scripts of the run share.
    pub(super) fn world(&self) -> &Arc<RunShared> {
        &self.script.world
    }

    /// Locks the messages of the script.
    pub(super) fn dialogue(&self) -> MutexGuard<'_, Dialogue> {
        self.script.dialogue()
    }

    /// Returns whether another script called this one. Its output is then only for that script.
    pub(super) fn is_inner(&self) -> bool {
        self.script.is_inner()
    }

    /// Returns the name that the script speaks under.
    pub(super) fn own_name(&self) -> String {
        self.script.own_name()
    }

    pub(super) fn setting(&self, name: &str) -> Option<Value> {
        self.script.setting(name)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.script.flag(name)
    }

    /// Merges the parameters of a call by precedence, including its own.
    pub(super) fn parameters(&self, own: &Map) -> Map {
        let world = self.world();
        let state = self.script.state();
        state.call_parameters(own, &world.parameters, world.stream)
    }

    /// Stores a model's answer in a variable.
    pub(super) fn assign(&self, variable: &str, value: Value) {
        self.world().kept.add(value.weight());
        self.script.state().answer(variable, value);
    }

    /// Sets the hidden fields of the next result.
    pub(super) fn hide(&self, beside: Map) {
        self.script.state().coming = beside;
    }

    /// Records that an answer was produced, so that the end of the script does not request another.
    pub(super) fn mark_asked(&self) {
        self.script.state().asked = true;
    }

    /// Returns whether the next answer is the last action of the script, and clears the flag.
    pub(super) fn take_closing(&self) -> bool {
        std::mem::take(&mut self.script.state().closing)
    }

    /// Returns the tools that are offered to the model.
    pub(super) async fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, ScriptError> {
        self.script.tools(&self.scope, self.at).await
    }

    /// Returns the answer of a role's script to the messages before an index.
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

    /// Emits an event.
    pub(super) async fn emit(
        &self,
        event: &str,
        arguments: Vec<Option<Value>>,
    ) -> Result<ListenerResult, ScriptError> {
        self.script
            .emit(event, arguments, &self.scope, self.at)
            .await
    }

    /// Creates an assistant message at this location.
    pub(super) fn message(&self, content: Value) -> DialogueEntry {
        DialogueEntry::done("assistant", content, self.scope.clone(), self.at)
    }

    /// Reports a message to the observer.
    pub(super) fn show(&self, at: usize) {
        self.script.show(at);
    }

    /// Reports a warning at this location to the author.
    pub(super) fn warn(&self, code: &'static str, message: &str, help: Option<&str>) {
        let finding = self.scope.source.warning(code, message, self.at);
        self.world().warn(match help {
            Some(help) => finding.help(help),
            None => finding,
        });
    }

    /// Creates an error at this location.
    pub(super) fn fail(&self, kind: ErrorKind, message: String) -> ScriptError {
        let finding = self.scope.source.error(kind.code(), message, self.at);
        ScriptError::new(kind, finding)
    }

    /// Creates an error for an invalid request.
    pub(super) fn refuse(&self, message: String) -> ScriptError {
        refuse(&self.scope, self.at, message)
    }

    /// Adds this location to a call error that has none.
    pub(super) fn located(&self, error: CallError) -> ScriptError {
        let mut error = error.into_script_error(&self.scope.source.name);
        self.script.locate(&mut error, &self.scope, self.at);
        error
    }

    /// Returns an error if the budget does not allow another request.
    pub(super) fn check_budget(&self, model: &str, has_price: bool) -> Result<(), ScriptError> {
        let budget = &self.world().budget;
        budget.check_spent(model, has_price, &self.scope, self.at)?;
        budget.model_call(&self.scope, self.at)
    }
}
