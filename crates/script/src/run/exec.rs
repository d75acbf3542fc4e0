//! Instructions: what each does, and which of them wait for messages that are not complete.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::control::{Flow, field, holds, place};
use super::instance::Instance;
use super::kept;
use super::params::Params;
use super::scope::Scope;
use super::stack::boxed;
use crate::error::{ErrorKind, ScriptError};
use crate::reader;
use crate::syntax::{Call, Item, ItemKind, Target};

impl Instance {
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
        if call.target == Target::Directive {
            match &*call.name.value {
                "break" => return Ok(Flow::Break(call.span)),
                "continue" => return Ok(Flow::Continue(call.span)),
                "if" | "while" | "for" | "match" => {
                    self.fill_holes().await?;
                    return self.control(call, scope).await;
                }
                name if waits_for_nothing(name, call) => {}
                name if only_fills(name) => self.fill_holes().await?,
                // Whatever else may read a message, so all templates are rendered by now.
                _ => self.render_messages().await?,
            }
        } else {
            self.render_messages().await?;
        }
        let waiting = std::mem::take(&mut self.state().pipes);
        let piped = (call.piped || waiting).then(|| self.passed_on());
        if call.target == Target::Directive && &*call.name.value == "pipe" {
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
        let target = match name.starts_with('$') {
            true => Target::Directive,
            false => Target::Script,
        };
        let plain = name.trim_start_matches('$');
        let value = self.invoke(target, plain, params, scope, call.span).await?;
        self.finish(value);
        Ok(Flow::Next)
    }

    async fn control(self: &Arc<Self>, call: &Call, scope: &Scope) -> Result<Flow, ScriptError> {
        match &*call.name.value {
            "if" => boxed(|| self.if_directive(call, scope)).await,
            "while" => boxed(|| self.while_directive(call, scope)).await,
            "for" => boxed(|| self.for_directive(call, scope)).await,
            _ => boxed(|| self.match_directive(call, scope)).await,
        }
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
        Ok(match (call.target, &*call.name.value) {
            (Target::Tool, _) => Flow::Next,
            (_, "exit") => {
                self.world.exit(self.state().last.clone());
                Flow::Return
            }
            (_, "ret") => Flow::Return,
            (Target::Directive | Target::Script, "print") => {
                self.state().printed = true;
                Flow::Next
            }
            _ => Flow::Next,
        })
    }

    /// Whether the condition of `$if` or `$while` holds: an expression, a template
    /// that gives one, `[[@script()]]`, or a directive.
    pub(crate) async fn condition(
        self: &Arc<Self>,
        call: &Call,
        scope: &Scope,
    ) -> Result<bool, ScriptError> {
        // A loop comes back here from the end of its body, where a message may still wait.
        self.fill_holes().await?;
        let at = place(call);
        let Some(node) = call.value.as_ref().filter(|node| !node.is_null()) else {
            let Some(arguments) = &call.arguments else {
                let message = format!("`${}` lacks its condition", call.name.value);
                let finding = scope.source.error("script.condition", message, at);
                return Err(ScriptError::new(ErrorKind::Script, finding));
            };
            return Ok(holds(&self.expression(&arguments.value, scope, at).await?));
        };
        if let Some(text) = node.as_str() {
            return boxed(|| self.text_condition(text, at, scope)).await;
        }
        if node.entries().is_some() {
            let item =
                reader::item(node, &scope.source).map_err(|findings| found(findings, scope))?;
            // A condition leaves the last result as it was.
            let before = self.state().last.clone();
            self.block_item(&item, scope).await?;
            let mut state = self.state();
            let value = std::mem::replace(&mut state.last, before);
            return Ok(holds(&value));
        }
        Ok(holds(&self.node(node, scope).await?))
    }

    /// Boxed, since a condition may hold a call that has conditions.
    fn block_item<'a>(
        self: &'a Arc<Self>,
        item: &'a Item,
        scope: &'a Scope,
    ) -> quillet_core::BoxFuture<'a, Result<Flow, ScriptError>> {
        Box::pin(self.item(item, scope))
    }

    async fn text_condition(
        self: &Arc<Self>,
        text: &str,
        at: Span,
        scope: &Scope,
    ) -> Result<bool, ScriptError> {
        let text = text.trim();
        let text = text.strip_prefix("?=").unwrap_or(text);
        if text.starts_with("[[") && text.ends_with("]]") {
            let value = self.text_value(text, at, scope).await?;
            return Ok(holds(&value));
        }
        if text.starts_with('$') {
            let item = reader::text_item(text, at, &scope.source)
                .map_err(|findings| found(findings, scope))?;
            if matches!(item.kind, ItemKind::Call(_)) {
                self.block_item(&item, scope).await?;
                return Ok(holds(&self.state().last));
            }
        }
        if !text.contains("{{") && !text.contains("{%") {
            return Ok(holds(&self.expression(text, scope, at).await?));
        }
        // What a template gives is data, never an expression of its own.
        let rendered = self.render(text, scope, at).await?;
        Ok(says_yes(&rendered))
    }
}

/// Whether a rendered condition means yes: empty text, `false`, `0`, `null`, `undefined`, `none`
/// and `no` do not.
fn says_yes(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    !matches!(
        &*text,
        "" | "false" | "0" | "null" | "undefined" | "none" | "no"
    )
}

/// `$AI` fills holes itself, with its own parameters.
fn waits_for_nothing(name: &str, call: &Call) -> bool {
    match name {
        "AI" => true,
        "tool" => field(call, "name")
            .or_else(|| call.value.as_ref()?.get("name"))
            .or(call.value.as_ref())
            .and_then(|node| node.as_str())
            .is_some_and(|name| name == "llm"),
        _ => false,
    }
}

/// Directives that set something for later and read no message: templates may wait.
fn only_fills(name: &str) -> bool {
    matches!(
        name,
        "prompt" | "parameters" | "on" | "once" | "off" | "ready" | "abort"
    )
}

/// Findings as a failure of the script.
pub(crate) fn found(findings: Vec<quillet_core::Diagnostic>, scope: &Scope) -> ScriptError {
    let mut error = ScriptError::plain(
        ErrorKind::Script,
        &scope.source.name,
        "this is not an instruction",
    );
    if !findings.is_empty() {
        error.diagnostics = findings;
    }
    error
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
    call.target == Target::Directive
        && matches!(
            &*call.name.value,
            "format" | "on" | "once" | "off" | "set" | "prompt"
        )
}
