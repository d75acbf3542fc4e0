//! Executes instructions, and decides which messages must be complete before each of them.
//!
//! `$if` is in [`conditions`], `$for` and `$while` in [`loops`], `$match` in [`matching`]. They
//! access the script only through a [`ScriptFrame`].

mod conditions;
mod frame;
mod loops;
mod matching;

use std::sync::Arc;

use quillet_core::{BoxFuture, Span, Value};

pub(super) use frame::ScriptFrame;

use super::invoke::MODEL;
use super::params::CallParams;
use super::stack::boxed;
use crate::directive::Directive;
use crate::error::ScriptError;
use crate::syntax::{CallExpr, CallTarget, Instruction, InstructionBlock, ItemKind};

/// Control flow after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Flow {
    /// Continue with the next instruction.
    Next,
    /// Leave the innermost loop. The span is used for an error if there is no loop.
    Break(Span),
    /// Continue with the next iteration of the innermost loop.
    Continue(Span),
    /// Go to the end of the script.
    Return,
}

impl<'a> ScriptFrame<'a> {
    /// Executes the instructions of a block in order.
    pub(in crate::run) fn block(
        self,
        block: &'a InstructionBlock,
    ) -> BoxFuture<'a, Result<Flow, ScriptError>> {
        // Boxed because blocks nest recursively, and a recursive `async fn` would have an infinite
        // type.
        Box::pin(async move {
            for item in &block.items {
                self.step(item.span).await?;
                match self.item(item).await? {
                    // Another branch or a called script may have run `$exit` in the meantime.
                    Flow::Next if self.exits() => return Ok(Flow::Return),
                    Flow::Next => {}
                    leave => return Ok(leave),
                }
            }
            Ok(Flow::Next)
        })
    }

    /// Executes one instruction.
    pub(in crate::run) async fn item(self, item: &Instruction) -> Result<Flow, ScriptError> {
        match &item.kind {
            ItemKind::Message(message) => {
                self.fill_holes().await?;
                boxed(|| self.push(message, item.span)).await?;
            }
            ItemKind::Separator { pin } => {
                self.render_messages().await?;
                boxed(|| self.separate(*pin, item.span)).await?;
            }
            ItemKind::Expression(text) => {
                self.render_messages().await?;
                let value = boxed(|| self.expression_text(&text.value, text.span)).await?;
                self.finish(value);
            }
            ItemKind::Chain(calls) => {
                self.render_messages().await?;
                return boxed(|| self.chain(calls)).await;
            }
            ItemKind::Block(block) => return self.block(block).await,
            ItemKind::Call(call) => return boxed(|| self.call(call)).await,
        }
        Ok(Flow::Next)
    }

    /// Executes a call that is an instruction.
    async fn call(self, call: &CallExpr) -> Result<Flow, ScriptError> {
        match call.target {
            CallTarget::Directive(directive) => match directive {
                Directive::Break => return Ok(Flow::Break(call.span)),
                Directive::Continue => return Ok(Flow::Continue(call.span)),
                Directive::If => return boxed(|| self.if_directive(call)).await,
                Directive::While => return boxed(|| self.while_directive(call)).await,
                Directive::For => return boxed(|| self.for_directive(call)).await,
                Directive::Match => return boxed(|| self.match_directive(call)).await,
                _ if waits_for_nothing(directive, call) => {}
                _ if only_fills(directive) => self.fill_holes().await?,
                // Other directives may read messages, so all templates are rendered first.
                _ => self.render_messages().await?,
            },
            _ => self.render_messages().await?,
        }
        let waiting = self.take_pipe();
        let piped = (call.piped || waiting).then(|| self.passed_on());
        if call.target == CallTarget::Directive(Directive::Pipe) {
            return boxed(|| self.pipe(call)).await;
        }
        boxed(|| self.linked(call, piped.flatten())).await
    }

    /// `$pipe`, `|`: the next call receives the last result. `$pipe: name` calls `name` directly.
    async fn pipe(self, call: &CallExpr) -> Result<Flow, ScriptError> {
        let written = call.value.as_ref().and_then(|node| node.text());
        let name = call.arguments.as_ref().map(|text| &*text.value).or(written);
        let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else {
            self.open_pipe();
            return Ok(Flow::Next);
        };
        let params = CallParams {
            piped: self.passed_on(),
            ..CallParams::default()
        };
        let plain = name.trim_start_matches('$');
        let target = if name.starts_with('$') {
            CallTarget::of(plain)
        } else {
            CallTarget::Script
        };
        let value = self.invoke(target, plain, params, call.span).await?;
        self.finish(value);
        Ok(Flow::Next)
    }

    /// `-> a -> b(…)`: each call receives the result of the previous one.
    async fn chain(self, calls: &[CallExpr]) -> Result<Flow, ScriptError> {
        for call in calls {
            self.step(call.span).await?;
            let piped = self.passed_on();
            match self.linked(call, piped).await? {
                Flow::Next => {}
                leave => return Ok(leave),
            }
        }
        Ok(Flow::Next)
    }

    /// Makes a call with a piped value.
    async fn linked(self, call: &CallExpr, piped: Option<Value>) -> Result<Flow, ScriptError> {
        let params = boxed(|| self.params(call, piped)).await?;
        let value = self
            .invoke(call.target, &call.name.value, params, call.span)
            .await?;
        self.finish(value);
        Ok(match call.directive() {
            Some(Directive::Exit) => {
                self.exit();
                Flow::Return
            }
            Some(Directive::Ret) => Flow::Return,
            Some(Directive::Print) => {
                self.note_printed();
                Flow::Next
            }
            _ => Flow::Next,
        })
    }
}

/// Returns whether a call is `$AI`, which fills holes itself with its own parameters.
fn waits_for_nothing(directive: Directive, call: &CallExpr) -> bool {
    match directive {
        Directive::Ai => true,
        Directive::Tool => call
            .field("name")
            .or_else(|| call.value.as_ref()?.get("name"))
            .or(call.value.as_ref())
            .and_then(|node| node.as_str())
            .is_some_and(|name| name == MODEL),
        _ => false,
    }
}

/// Returns whether a directive only configures something and reads no message. Templates stay
/// unrendered before it.
fn only_fills(directive: Directive) -> bool {
    use Directive::{Abort, Off, On, Once, Parameters, Prompt, Ready};
    matches!(
        directive,
        Prompt | Parameters | On | Once | Off | Ready | Abort
    )
}

impl ScriptFrame<'_> {
    /// Evaluates the arguments of a call, including a piped value.
    async fn params(
        self,
        call: &CallExpr,
        piped: Option<Value>,
    ) -> Result<CallParams, ScriptError> {
        let raw = takes_raw(call);
        let mut params = CallParams::default();
        if let Some(arguments) = &call.arguments {
            params = self.arguments(arguments, piped.as_ref()).await?;
        }
        if let Some(node) = call.value.as_ref().filter(|node| !node.is_null()) {
            if raw {
                params.add_node(node)
            } else {
                params.add(self.node(node).await?)
            }
        }
        for entry in &call.fields {
            let value = if raw {
                Some(entry.value.value())
            } else {
                self.node(&entry.value).await?
            };
            params.set(entry.name(), value);
        }
        // Cloned only for directives that read their nodes themselves, because most calls do not
        // need it.
        params.call = raw.then(|| Arc::new(call.clone()));
        params.piped = piped;
        Ok(params)
    }
}

/// Returns whether a directive reads its nodes itself, for example as templates, functions or
/// listeners.
fn takes_raw(call: &CallExpr) -> bool {
    use Directive::{Format, Off, On, Once, Prompt, Set};
    matches!(
        call.target,
        CallTarget::Directive(Format | On | Once | Off | Set | Prompt)
    )
}
