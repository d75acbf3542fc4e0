//! Instructions: where control goes between them, what each does, and which of them wait for messages
//! that are not complete.

use std::sync::Arc;

use quillet_core::{BoxFuture, Span, Value};

use super::instance::Instance;
use super::invoke::MODEL;
use super::kept;
use super::params::Params;
use super::scope::Scope;
use super::stack::boxed;
use crate::directive::Directive;
use crate::error::ScriptError;
use crate::syntax::{Block, Call, Item, ItemKind, Target};

/// Where control goes after an instruction. Its result is the script's latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next instruction.
    Next,
    /// Out of the innermost loop: from that place, for where there is none.
    Break(Span),
    /// To the next turn of the innermost loop.
    Continue(Span),
    /// To the end of the script.
    Return,
}

impl Instance {
    /// Does a block's instructions in order.
    pub(crate) fn block<'a>(
        self: &'a Arc<Self>,
        block: &'a Block,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Flow, ScriptError>> {
        Box::pin(async move {
            for item in &block.items {
                self.world.step(scope, item.span).await?;
                match self.item(item, scope).await? {
                    Flow::Next if self.world.exits() => return Ok(Flow::Return),
                    Flow::Next => {}
                    leave => return Ok(leave),
                }
            }
            Ok(Flow::Next)
        })
    }

    /// Does one instruction.
    pub(crate) async fn item(
        self: &Arc<Self>,
        item: &Item,
        scope: &Scope,
    ) -> Result<Flow, ScriptError> {
        match &item.kind {
            ItemKind::Message(message) => {
                self.fill_holes().await?;
                boxed(|| self.push(message, item.span, scope)).await?;
            }
            ItemKind::Separator { pin } => {
                self.render_messages().await?;
                boxed(|| self.separate(*pin, scope, item.span)).await?;
            }
            ItemKind::Expression(text) => {
                self.render_messages().await?;
                let value = boxed(|| self.expression_text(&text.value, scope, text.span)).await?;
                self.finish(value);
            }
            ItemKind::Chain(calls) => {
                self.render_messages().await?;
                return boxed(|| self.chain(calls, scope)).await;
            }
            ItemKind::Block(block) => return self.block(block, scope).await,
            ItemKind::Call(call) => return boxed(|| self.call(call, scope)).await,
        }
        Ok(Flow::Next)
    }

    /// Remembers the result of an instruction.
    pub(crate) fn finish(&self, value: Option<Value>) {
        self.world.kept.add(kept::of(value.as_ref()));
        self.state().finish(value, None);
    }

    /// Does a call that stands as an instruction.
    async fn call(self: &Arc<Self>, call: &Call, scope: &Scope) -> Result<Flow, ScriptError> {
        match call.target {
            Target::Directive(directive) => match directive {
                Directive::Break => return Ok(Flow::Break(call.span)),
                Directive::Continue => return Ok(Flow::Continue(call.span)),
                Directive::If => return boxed(|| self.if_directive(call, scope)).await,
                Directive::While => return boxed(|| self.while_directive(call, scope)).await,
                Directive::For => return boxed(|| self.for_directive(call, scope)).await,
                Directive::Match => return boxed(|| self.match_directive(call, scope)).await,
                _ if waits_for_nothing(directive, call) => {}
                _ if only_fills(directive) => self.fill_holes().await?,
                // Whatever else may read a message, so all templates are rendered by now.
                _ => self.render_messages().await?,
            },
            _ => self.render_messages().await?,
        }
        let waiting = std::mem::take(&mut self.state().pipes);
        let piped = (call.piped || waiting).then(|| self.passed_on());
        if call.target == Target::Directive(Directive::Pipe) {
            return boxed(|| self.pipe(call, scope)).await;
        }
        boxed(|| self.linked(call, piped.flatten(), scope)).await
    }

    /// `$pipe`, `|`: the next call takes the last result; `$pipe: name` is that call itself.
    async fn pipe(self: &Arc<Self>, call: &Call, scope: &Scope) -> Result<Flow, ScriptError> {
        let written = call.value.as_ref().and_then(|node| node.text());
        let name = call.arguments.as_ref().map(|text| &*text.value).or(written);
        let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else {
            self.state().pipes = true;
            return Ok(Flow::Next);
        };
        let params = Params {
            piped: self.passed_on(),
            ..Params::default()
        };
        let plain = name.trim_start_matches('$');
        let target = match name.starts_with('$') {
            true => Target::of(plain),
            false => Target::Script,
        };
        let value = self.invoke(target, plain, params, scope, call.span).await?;
        self.finish(value);
        Ok(Flow::Next)
    }

    /// `-> a -> b(…)`: each link takes the result of the one before it.
    async fn chain(self: &Arc<Self>, calls: &[Call], scope: &Scope) -> Result<Flow, ScriptError> {
        for call in calls {
            self.world.step(scope, call.span).await?;
            let piped = self.passed_on();
            match self.linked(call, piped, scope).await? {
                Flow::Next => {}
                leave => return Ok(leave),
            }
        }
        Ok(Flow::Next)
    }

    /// What a chain and a pipe pass on: the last answer where a message was around it, or the
    /// last result.
    fn passed_on(&self) -> Option<Value> {
        let state = self.state();
        state.answer.clone().or_else(|| state.last.clone())
    }

    /// Makes a call with what is piped into it.
    async fn linked(
        self: &Arc<Self>,
        call: &Call,
        piped: Option<Value>,
        scope: &Scope,
    ) -> Result<Flow, ScriptError> {
        let params = boxed(|| self.params(call, piped, scope)).await?;
        let value = self
            .invoke(call.target, &call.name.value, params, scope, call.span)
            .await?;
        self.finish(value);
        Ok(match call.directive() {
            Some(Directive::Exit) => {
                self.world.exit(self.state().last.clone());
                Flow::Return
            }
            Some(Directive::Ret) => Flow::Return,
            Some(Directive::Print) => {
                self.state().printed = true;
                Flow::Next
            }
            _ => Flow::Next,
        })
    }
}

/// `$AI` fills holes itself, with its own parameters.
fn waits_for_nothing(directive: Directive, call: &Call) -> bool {
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

impl Instance {
    /// What a call is given: evaluated, with what is piped into it.
    async fn params(
        self: &Arc<Self>,
        call: &Call,
        piped: Option<Value>,
        scope: &Scope,
    ) -> Result<Params, ScriptError> {
        let raw = takes_raw(call);
        let mut params = Params::default();
        if let Some(arguments) = &call.arguments {
            params = self.arguments(arguments, scope, piped.as_ref()).await?;
        }
        if let Some(node) = call.value.as_ref().filter(|node| !node.is_null()) {
            match raw {
                true => params.add_node(node),
                false => params.add(self.node(node, scope).await?),
            }
        }
        for entry in &call.fields {
            let value = match raw {
                true => Some(entry.value.value()),
                false => self.node(&entry.value, scope).await?,
            };
            params.set(entry.name(), value);
        }
        params.call = raw.then(|| Arc::new(call.clone()));
        params.piped = piped;
        Ok(params)
    }
}

/// Directives that read their nodes themselves: templates to come, functions, listeners.
fn takes_raw(call: &Call) -> bool {
    use Directive::{Format, Off, On, Once, Prompt, Set};
    matches!(
        call.target,
        Target::Directive(Format | On | Once | Off | Set | Prompt)
    )
}
