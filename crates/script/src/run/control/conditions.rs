//! `$if` with `then` and `else`, and the conditions of `$if` and `$while`.

use quillet_core::{BoxFuture, Span};

use super::{Flow, ScriptFrame};
use crate::error::ScriptError;
use crate::expression::truthy;
use crate::reader;
use crate::run::failure::found;
use crate::run::stack::boxed;
use crate::syntax::{CallExpr, Instruction, ItemKind};

impl<'a> ScriptFrame<'a> {
    pub(super) async fn if_directive(self, call: &CallExpr) -> Result<Flow, ScriptError> {
        let condition = boxed(|| self.condition(call)).await?;
        let name = if condition { "then" } else { "else" };
        match call.branch(name) {
            Some(branch) => self.block(&branch.block).await,
            None => Ok(Flow::Next),
        }
    }

    /// Evaluates the condition of `$if` or `$while`: an expression, a template that renders to one,
    /// `[[@script()]]`, or a directive.
    pub(super) async fn condition(self, call: &CallExpr) -> Result<bool, ScriptError> {
        // A loop returns here after its body, which may have added messages with holes.
        self.fill_holes().await?;
        let at = call.place();
        let Some(node) = call.value.as_ref().filter(|node| !node.is_null()) else {
            let Some(arguments) = &call.arguments else {
                let message = format!("missing condition of `${}`", call.name.value);
                return Err(self.fail("script.condition", message, at));
            };
            return Ok(truthy(&self.expression(&arguments.value, at).await?));
        };
        if let Some(text) = node.as_str() {
            return boxed(|| self.text_condition(text, at)).await;
        }
        if node.entries().is_some() {
            let item = reader::item(node, self.source())
                .map_err(|findings| found(findings, self.scope()))?;
            // Evaluating a condition must not change the last result.
            let before = self.last();
            self.inner_item(&item).await?;
            return Ok(truthy(&self.replace_last(before)));
        }
        Ok(truthy(&self.node(node).await?))
    }

    /// Boxed, because a condition may contain a call that has conditions itself.
    fn inner_item(self, item: &'a Instruction) -> BoxFuture<'a, Result<Flow, ScriptError>> {
        Box::pin(self.item(item))
    }

    async fn text_condition(self, text: &str, at: Span) -> Result<bool, ScriptError> {
        let text = text.trim();
        let text = text.strip_prefix("?=").unwrap_or(text);
        if text.starts_with("[[") && text.ends_with("]]") {
            let value = self.text_value(text, at).await?;
            return Ok(truthy(&value));
        }
        if text.starts_with('$') {
            let item = reader::text_item(text, at, self.source())
                .map_err(|findings| found(findings, self.scope()))?;
            if matches!(item.kind, ItemKind::Call(_)) {
                self.inner_item(&item).await?;
                return Ok(truthy(&self.last()));
            }
        }
        if !text.contains("{{") && !text.contains("{%") {
            return Ok(truthy(&self.expression(text, at).await?));
        }
        // The output of a template is data and is never evaluated as an expression.
        let rendered = self.render(text, at).await?;
        Ok(says_yes(&rendered))
    }
}

/// Returns whether a rendered condition is true. False are empty text, `false`, `0`, `null`,
/// `undefined`, `none` and `no`.
fn says_yes(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    !matches!(
        &*text,
        "" | "false" | "0" | "null" | "undefined" | "none" | "no"
    )
}
