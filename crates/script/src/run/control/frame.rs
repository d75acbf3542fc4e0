//! Access of control flow to the script.

use std::sync::Arc;

use quillet_core::{BoxFuture, Span, Value};
use quillet_yaml::Node;

use crate::error::{ErrorKind, ScriptError};
use crate::expression::EvalError;
use crate::run::expressions::NameView;
use crate::run::instance::Instance;
use crate::run::params::{CallParams, DirectiveResult};
use crate::run::scope::NameScope;
use crate::syntax::{CallTarget, MessageTemplate, ScriptSource, ScriptText};

/// A script together with the bindings in scope.
///
/// The fields are private, so control flow can access only these methods. They evaluate values,
/// call by name and complete messages. None of them calls a model directly or holds a lock.
#[derive(Clone, Copy)]
pub(in crate::run) struct ScriptFrame<'a> {
    script: &'a Arc<Instance>,
    scope: &'a NameScope,
}

impl<'a> ScriptFrame<'a> {
    pub(in crate::run) fn new(script: &'a Arc<Instance>, scope: &'a NameScope) -> Self {
        ScriptFrame { script, scope }
    }

    /// Returns the same script with other bindings.
    pub(super) fn inside(self, scope: &'a NameScope) -> Self {
        ScriptFrame { scope, ..self }
    }

    /// Returns the current bindings.
    pub(super) fn scope(self) -> &'a NameScope {
        self.scope
    }

    /// Returns the source that is being executed.
    pub(super) fn source(self) -> &'a Arc<ScriptSource> {
        &self.scope.source
    }

    /// Creates an error at a location.
    pub(super) fn fail(self, code: &'static str, message: String, at: Span) -> ScriptError {
        ScriptError::new(ErrorKind::Script, self.source().error(code, message, at))
    }

    /// Counts an instruction or a loop iteration.
    pub(super) fn step(self, at: Span) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.world.step(self.scope, at)
    }

    /// Returns whether `$exit` ended the run.
    pub(super) fn exits(self) -> bool {
        self.script.world.exits()
    }

    /// Ends the run with the latest result.
    pub(super) fn exit(self) {
        self.script.world.exit(self.last());
    }

    /// Fills the holes of all messages that have any.
    pub(super) fn fill_holes(self) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.fill_holes()
    }

    /// Completes all messages.
    pub(super) fn render_messages(self) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.render_messages()
    }

    /// Adds a message to the dialogue.
    pub(super) fn push(
        self,
        message: &MessageTemplate,
        at: Span,
    ) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.push(message, at, self.scope)
    }

    /// Starts a new dialogue.
    pub(super) fn separate(
        self,
        pin: bool,
        at: Span,
    ) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.separate(pin, self.scope, at)
    }

    /// Returns the latest result.
    pub(super) fn last(self) -> Option<Value> {
        self.script.state().last.clone()
    }

    /// Replaces the latest result and returns the previous one.
    pub(super) fn replace_last(self, value: Option<Value>) -> Option<Value> {
        std::mem::replace(&mut self.script.state().last, value)
    }

    /// Stores the result of an instruction.
    pub(super) fn finish(self, value: Option<Value>) {
        self.script.finish(value);
    }

    /// Records that the latest result was printed by `$print`.
    pub(super) fn note_printed(self) {
        self.script.state().printed = true;
    }

    /// Makes the next call receive the latest result.
    pub(super) fn open_pipe(self) {
        self.script.state().pipes = true;
    }

    /// Returns whether this call receives the latest result.
    pub(super) fn take_pipe(self) -> bool {
        std::mem::take(&mut self.script.state().pipes)
    }

    /// Returns the value that a chain or a pipe passes on: the last answer without the message text
    /// around it, or the last result.
    pub(super) fn passed_on(self) -> Option<Value> {
        let state = self.script.state();
        state.answer.clone().or_else(|| state.last.clone())
    }

    /// Evaluates a node.
    pub(super) fn node(self, node: &'a Node) -> BoxFuture<'a, DirectiveResult> {
        self.script.node(node, self.scope)
    }

    /// Evaluates an argument string.
    pub(super) fn arguments(
        self,
        text: &ScriptText,
        piped: Option<&Value>,
    ) -> impl Future<Output = Result<CallParams, ScriptError>> {
        self.script.arguments(text, self.scope, piped)
    }

    /// Evaluates an expression.
    pub(super) fn expression(self, text: &str, at: Span) -> impl Future<Output = DirectiveResult> {
        self.script.expression(text, self.scope, at)
    }

    /// Evaluates the expression after `?=`.
    pub(super) fn expression_text(
        self,
        text: &str,
        at: Span,
    ) -> impl Future<Output = DirectiveResult> {
        self.script.expression_text(text, self.scope, at)
    }

    /// Evaluates an expression that needs JavaScript.
    pub(super) fn javascript(self, text: &str, at: Span) -> impl Future<Output = DirectiveResult> {
        self.script.javascript(text, self.scope, at)
    }

    /// Converts an error of the native evaluator to a script error.
    pub(super) fn eval_error(self, error: EvalError, text: &str, at: Span) -> ScriptError {
        self.script.eval_error(error, text, self.scope, at)
    }

    /// Returns the names that expressions can use here.
    pub(super) fn names(self) -> NameView<'a> {
        NameView::new(self.script, self.scope)
    }

    /// Evaluates a text that is used as a value.
    pub(super) fn text_value(self, text: &'a str, at: Span) -> BoxFuture<'a, DirectiveResult> {
        self.script.text_value(text, at, self.scope)
    }

    /// Renders a template.
    pub(super) fn render(
        self,
        text: &str,
        at: Span,
    ) -> impl Future<Output = Result<String, ScriptError>> {
        self.script.render(text, self.scope, at)
    }

    /// Calls a directive, function, script or tool by name.
    pub(super) fn invoke(
        self,
        target: CallTarget,
        name: &'a str,
        params: CallParams,
        at: Span,
    ) -> BoxFuture<'a, DirectiveResult> {
        self.script.invoke(target, name, params, self.scope, at)
    }
}
