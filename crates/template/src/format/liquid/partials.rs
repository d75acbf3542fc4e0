//! Evaluation of `include`, which shares the names of its caller, and of `render`, which sees only
//! its arguments.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use quillet_core::{Span, Value as Data, nearest};

use super::ast::{ExprKind, PartialTag};
use super::eval::{Evaluator, fail};
use super::items::LoopItems;
use super::scope::RenderScope;
use super::value::{ForLoop, Value};
use crate::{ErrorKind, LimitKind, RenderError, StopReason};

impl<'t, 'p> Evaluator<'t, 'p> {
    pub(super) fn include(&mut self, node: &'t PartialTag, span: Span) -> Result<(), StopReason> {
        // Forbidden as in Liquid, because a template called with `render` must not see other names.
        if !self.world.includes {
            let mut error = RenderError::new(
                ErrorKind::Execution,
                "include cannot be used inside a template called with render",
            );
            error.help = Some("use render there, and pass the values that it needs".into());
            return Err(error.into());
        }
        let name = self.eval(&node.template)?.meant();
        if !name.is_true() {
            return Err(fail("include needs the name of a template"));
        }
        let name = self.text(&self.unmarked(&name))?;
        let source = self.find(&name)?;
        let value = match &node.handed {
            Some((expr, _)) => self.eval(expr)?,
            // As in Liquid, the variable with the template's name is passed by default.
            None => self.world.get(&name).unwrap_or(Value::NIL),
        };
        if let Value::Hole = value {
            return Err(StopReason::Suspended);
        }
        let variable = seen_as(node, &name);
        let scope = self.world.open();
        for (key, expr) in &node.named {
            let value = self.eval(expr)?;
            self.world.set_local(scope, key, value);
        }
        let entered = self.pass.entered();
        self.pass.enter(span.start);
        // As in Liquid, a list renders the template once per item even without `for`.
        if let Value::Data(Data::List(items)) = value.meant() {
            self.pass.enter(0);
            for (turn, item) in items.iter().enumerate() {
                self.pass.step()?;
                self.pass.turn(turn);
                self.world
                    .set_local(scope, &variable, Value::Data(item.clone()));
                self.partial(source)?;
            }
        } else {
            self.world.set_local(scope, &variable, value);
            self.partial(source)?;
        }
        self.pass.leave(entered);
        self.world.close(scope);
        Ok(())
    }

    pub(super) fn render(&mut self, node: &'t PartialTag, span: Span) -> Result<(), StopReason> {
        // Unreachable after the parser, which accepts only a constant name.
        let ExprKind::Text(name) = &node.template.kind else {
            return Err(fail("render needs the name of a template in quotes"));
        };
        let source = self.find(name)?;
        let (value, one_by_one) = match &node.handed {
            Some((expr, one_by_one)) => (self.eval(expr)?, *one_by_one),
            None => (Value::NIL, false),
        };
        let mut named = Vec::with_capacity(node.named.len());
        for (key, expr) in &node.named {
            named.push((key, self.eval(expr)?));
        }
        let variable = seen_as(node, name);
        let is_list = matches!(
            value.meant(),
            Value::Data(Data::List(_) | Data::Map(_)) | Value::Range(..)
        );
        let entered = self.pass.entered();
        self.pass.enter(span.start);
        let done = if one_by_one && is_list {
            // `render` has no `limit` or `offset`.
            let segment = LoopItems::of(&value).segment(0, None, false);
            let state = Rc::new(ForLoop {
                name: Arc::clone(name),
                length: segment.length,
                index: Cell::new(0),
                parent: None,
            });
            self.pass.enter(0);
            let mut done = Ok(());
            for turn in 0..segment.length {
                self.pass.step()?;
                self.pass.turn(turn);
                state.index.set(turn);
                // Each item has separate state, so that its assignments are not visible in the next
                // item.
                let mut world = RenderScope::apart();
                world.assign(&"forloop".into(), Value::Loop(Rc::clone(&state)));
                done = self.apart(world, &named, &variable, segment.get(turn), source);
                if done.is_err() {
                    break;
                }
            }
            done
        } else {
            self.apart(RenderScope::apart(), &named, &variable, value, source)
        };
        done?;
        self.pass.leave(entered);
        Ok(())
    }

    /// Renders a source in a separate scope.
    fn apart(
        &mut self,
        mut world: RenderScope<'p>,
        named: &[(&Arc<str>, Value)],
        variable: &Arc<str>,
        value: Value,
        source: usize,
    ) -> Result<(), StopReason> {
        for (key, value) in named {
            world.assign(key, value.clone());
        }
        // If the value is nil, the name stays undefined in the template.
        if !value.is_nil() {
            world.assign(variable, value);
        }
        let outer = std::mem::replace(&mut self.world, world);
        let done = self.partial(source);
        // The names are restored even after an error, because a skipped tag continues with the
        // outer names.
        self.world = outer;
        done
    }

    fn partial(&mut self, source: usize) -> Result<(), StopReason> {
        self.partials += 1;
        if self.partials > self.pass.limits().nesting {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        let outer = std::mem::replace(&mut self.source, source);
        let compiled = self.compiled;
        let done = match compiled.body(source) {
            Some(body) => self.body(body),
            None => Ok(()),
        };
        // After a failure the inner source stays current, because the error's location needs its
        // name and text.
        if !matches!(done, Err(StopReason::Failed(_))) {
            self.source = outer;
        }
        self.partials -= 1;
        done
    }

    fn find(&self, name: &str) -> Result<usize, StopReason> {
        if let Some(found) = self.compiled.index(name) {
            return Ok(found);
        }
        let mut error = RenderError::no_source(name);
        error.help =
            nearest(name, self.compiled.names()).map(|near| format!("did you mean {near}?"));
        Err(error.into())
    }
}

/// Returns the name of the passed value in the template.
fn seen_as(node: &PartialTag, template: &str) -> Arc<str> {
    match &node.alias {
        Some(alias) => Arc::clone(alias),
        // As in Liquid, the default name is the last part of the template's path.
        None => template.rsplit('/').next().unwrap_or(template).into(),
    }
}
