//! `$if` with its `then` and `else`, and what holds as the condition of `$if` and `$while`.

use std::sync::Arc;

use quillet_core::{BoxFuture, Span};

use super::exec::Flow;
use super::failure::found;
use super::instance::Instance;
use super::scope::Scope;
use super::stack::boxed;
use crate::error::{ErrorKind, ScriptError};
use crate::expression::truthy;
use crate::reader;
use crate::syntax::{Call, Item, ItemKind};

impl Instance {
    pub(crate) async fn if_directive(
        self: &Arc<Self>,
        call: &Call,
        scope: &Scope,
    ) -> Result<Flow, ScriptError> {
        let condition = boxed(|| self.condition(call, scope)).await?;
        let name = if condition { "then" } else { "else" };
        match call.branch(name) {
            Some(branch) => self.block(&branch.block, scope).await,
            None => Ok(Flow::Next),
        }
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
        let at = call.place();
        let Some(node) = call.value.as_ref().filter(|node| !node.is_null()) else {
            let Some(arguments) = &call.arguments else {
                let message = format!("`${}` lacks its condition", call.name.value);
                let finding = scope.source.error("script.condition", message, at);
                return Err(ScriptError::new(ErrorKind::Script, finding));
            };
            return Ok(truthy(&self.expression(&arguments.value, scope, at).await?));
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
            return Ok(truthy(&value));
        }
        Ok(truthy(&self.node(node, scope).await?))
    }

    /// Boxed, since a condition may hold a call that has conditions.
    fn block_item<'a>(
        self: &'a Arc<Self>,
        item: &'a Item,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Flow, ScriptError>> {
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
            return Ok(truthy(&value));
        }
        if text.starts_with('$') {
            let item = reader::text_item(text, at, &scope.source)
                .map_err(|findings| found(findings, scope))?;
            if matches!(item.kind, ItemKind::Call(_)) {
                self.block_item(&item, scope).await?;
                return Ok(truthy(&self.state().last));
            }
        }
        if !text.contains("{{") && !text.contains("{%") {
            return Ok(truthy(&self.expression(text, scope, at).await?));
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
