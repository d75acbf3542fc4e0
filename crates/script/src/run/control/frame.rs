//! The interface of a script for control flow.

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

/// A script with the names that are bound at one place of it.
///
/// Its fields are private, so these methods are everything that control flow can access. It
/// evaluates, calls by name and completes messages; it calls no model and holds no lock.
#[derive(Clone, Copy)]
pub(in crate::run) struct ScriptFrame<'a> {
    script: &'a Arc<Instance>,
    scope: &'a NameScope,
}

impl<'a> ScriptFrame<'a> {
    pub(in crate::run) fn new(script: &'a Arc<Instance>, scope: &'a NameScope) -> Self {
        ScriptFrame { script, scope }
    }

    /// The same script, where other names are bound.
    pub(super) fn inside(self, scope: &'a NameScope) -> Self {
        ScriptFrame { scope, ..self }
    }

    /// The names that are bound here.
    pub(super) fn scope(self) -> &'a NameScope {
        self.scope
    }

    /// The text that is run.
    pub(super) fn source(self) -> &'a Arc<ScriptSource> {
        &self.scope.source
    }

    /// That something here is wrong.
    pub(super) fn fail(self, code: &'static str, message: String, at: Span) -> ScriptError {
        ScriptError::new(ErrorKind::Script, self.source().error(code, message, at))
    }

    /// Counts an instruction or a turn of a loop.
    pub(super) fn step(self, at: Span) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.world.step(self.scope, at)
    }

    /// Whether `$exit` ended the run.
    pub(super) fn exits(self) -> bool {
        self.script.world.exits()
    }

    /// Ends the run with the latest result.
    pub(super) fn exit(self) {
        self.script.world.exit(self.last());
    }

    /// Fills the holes of messages that have some.
    pub(super) fn fill_holes(self) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.fill_holes()
    }

    /// Completes all messages.
    pub(super) fn render_messages(self) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.render_messages()
    }

    /// Takes a message into the dialogue.
    pub(super) fn push(
        self,
        message: &MessageTemplate,
        at: Span,
    ) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.push(message, at, self.scope)
    }

    /// Begins a new dialogue.
    pub(super) fn separate(
        self,
        pin: bool,
        at: Span,
    ) -> impl Future<Output = Result<(), ScriptError>> {
        self.script.separate(pin, self.scope, at)
    }

    /// The latest result.
    pub(super) fn last(self) -> Option<Value> {
        self.script.state().last.clone()
    }

    /// Puts another latest result in the place of this one, and gives this one.
    pub(super) fn replace_last(self, value: Option<Value>) -> Option<Value> {
        std::mem::replace(&mut self.script.state().last, value)
    }

    /// Remembers the result of an instruction.
    pub(super) fn finish(self, value: Option<Value>) {
        self.script.finish(value);
    }

    /// The latest result is what `$print` has just written.
    pub(super) fn note_printed(self) {
        self.script.state().printed = true;
    }

    /// The next call takes the latest result.
    pub(super) fn open_pipe(self) {
        self.script.state().pipes = true;
    }

    /// Whether this call takes the latest result.
    pub(super) fn take_pipe(self) -> bool {
        std::mem::take(&mut self.script.state().pipes)
    }

    /// What a chain and a pipe pass on: the last answer where a message was around it, or the
    /// last result.
    pub(super) fn passed_on(self) -> Option<Value> {
        let state = self.script.state();
        state.answer.clone().or_else(|| state.last.clone())
    }

    /// The value of a node.
    pub(super) fn node(self, node: &'a Node) -> BoxFuture<'a, DirectiveResult> {
        self.script.node(node, self.scope)
    }

    /// The value of an argument string.
    pub(super) fn arguments(
        self,
        text: &ScriptText,
        piped: Option<&Value>,
    ) -> impl Future<Output = Result<CallParams, ScriptError>> {
        self.script.arguments(text, self.scope, piped)
    }

    /// The value of an expression.
    pub(super) fn expression(self, text: &str, at: Span) -> impl Future<Output = DirectiveResult> {
        self.script.expression(text, self.scope, at)
    }

    /// The value after `?=`.
    pub(super) fn expression_text(
        self,
        text: &str,
        at: Span,
    ) -> impl Future<Output = DirectiveResult> {
        self.script.expression_text(text, self.scope, at)
    }

    /// The value of an expression that needs JavaScript.
    pub(super) fn javascript(self, text: &str, at: Span) -> impl Future<Output = DirectiveResult> {
        self.script.javascript(text, self.scope, at)
    }

    /// Why a native expression has no value.
    pub(super) fn eval_error(self, error: EvalError, text: &str, at: Span) -> ScriptError {
        self.script.eval_error(error, text, self.scope, at)
    }

    /// The names of the script, as expressions see them from here.
    pub(super) fn names(self) -> NameView<'a> {
        NameView::new(self.script, self.scope)
    }

    /// The value of a text where a value stands.
    pub(super) fn text_value(self, text: &'a str, at: Span) -> BoxFuture<'a, DirectiveResult> {
        self.script.text_value(text, at, self.scope)
    }

    /// A rendered template.
    pub(super) fn render(
        self,
        text: &str,
        at: Span,
    ) -> impl Future<Output = Result<String, ScriptError>> {
        self.script.render(text, self.scope, at)
    }

    /// Calls something by its name.
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
