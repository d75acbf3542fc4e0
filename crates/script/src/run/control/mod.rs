//! Execution of instructions: control flow between them, and which of them wait for incomplete
//! messages.
//!
//! `$if` is in [`conditions`], `$for` and `$while` in [`loops`], `$match` in [`matching`]. A
//! [`ScriptFrame`] is all that they see of the script.

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
    /// To the next instruction.
    Next,
    /// Out of the innermost loop: from that place, for where there is none.
    Break(Span),
    /// To the next turn of the innermost loop.
    Continue(Span),
    /// To the end of the script.
    Return,
}

impl<'a> ScriptFrame<'a> {
    /// Executes the instructions of a block in order.
    pub(in crate::run) fn block(
        self,
        block: &'a InstructionBlock,
    ) -> BoxFuture<'a, Result<Flow, ScriptError>> {
        // Boxed because blocks nest recursively; an `async fn` would have an infinite type.
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

    /// Does a call that stands as an instruction.
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

    /// `$pipe`, `|`: the next call takes the last result; `$pipe: name` is that call itself.
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

    /// `-> a -> b(…)`: each link takes the result of the one before it.
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

    /// Makes a call with what is piped into it.
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

/// `$AI` fills holes itself, with its own parameters.
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

/// Directives that set something for later and read no message: templates may wait.
fn only_fills(directive: Directive) -> bool {
    use Directive::{Abort, Off, On, Once, Parameters, Prompt, Ready};
    matches!(
        directive,
        Prompt | Parameters | On | Once | Off | Ready | Abort
    )
}

impl ScriptFrame<'_> {
    /// What a call is given: evaluated, with what is piped into it.
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
        // Cloned only for directives that read their nodes themselves; most calls never need it.
        params.call = raw.then(|| Arc::new(call.clone()));
        params.piped = piped;
        Ok(params)
    }
}

/// Directives that read their nodes themselves: templates to come, functions, listeners.
fn takes_raw(call: &CallExpr) -> bool {
    use Directive::{Format, Off, On, Once, Prompt, Set};
    matches!(
        call.target,
        CallTarget::Directive(Format | On | Once | Off | Set | Prompt)
    )
}
