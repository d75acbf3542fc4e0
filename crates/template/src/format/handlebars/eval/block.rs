//! Evaluation of blocks: chains of branches, the block helpers of handlebars.js, and sections.

use quillet_core::Value;

use super::call::CallOutput;
use super::scope::{
    BlockParams, ContextStack, DataFrame, FrameData, Key, Scope, ScopedValue, same,
};
use super::{Evaluator, fail};
use crate::StopReason;
use crate::format::handlebars::ast::{Block, BlockBody, BranchArm, CallExpr, CallKind};
use crate::format::handlebars::helper::{Branches, Callee, HelperResult};
use crate::format::javascript;

/// Whether a branch was rendered or the next one must be tried.
#[derive(Clone, Copy, PartialEq)]
enum BranchOutcome {
    Done,
    Next,
}

impl Evaluator<'_, '_> {
    pub(super) fn block(&mut self, block: &Block, scope: &Scope<'_>) -> Result<(), StopReason> {
        self.arms(&block.arms, block.otherwise.as_ref(), scope)
    }

    /// Evaluates the branches of a chain until one is rendered.
    pub(super) fn arms(
        &mut self,
        arms: &[BranchArm],
        otherwise: Option<&BlockBody>,
        scope: &Scope<'_>,
    ) -> Result<(), StopReason> {
        for (index, arm) in arms.iter().enumerate() {
            let branches = Branches {
                body: arm.body.as_ref(),
                rest: arms.get(index + 1..).unwrap_or_default(),
                otherwise,
            };
            let turn = self.arm(&arm.call, branches, scope);
            // The error must have the location of the failed branch, not of the first branch.
            if turn.map_err(|stop| self.place(stop, arm.call.path.span, scope))?
                == BranchOutcome::Done
            {
                return Ok(());
            }
        }
        self.optional(otherwise, scope)
    }

    fn arm(
        &mut self,
        call: &CallExpr,
        branches: Branches<'_>,
        scope: &Scope<'_>,
    ) -> Result<BranchOutcome, StopReason> {
        match &call.kind {
            CallKind::Helper(Callee::If) => self.condition(call, true, branches.body, scope),
            CallKind::Helper(Callee::Unless) => self.condition(call, false, branches.body, scope),
            CallKind::Helper(Callee::With) => self.with(call, branches.body, scope),
            CallKind::Helper(Callee::Each) => {
                let value = self.iterated(call, scope)?;
                self.each(value.get(), branches.body, scope)
            }
            CallKind::Helper(Callee::Native(helper)) => {
                let answer = self.native(helper, call, Some(branches), scope)?;
                self.append(answer)?;
                Ok(BranchOutcome::Done)
            }
            CallKind::Helper(_) => {
                if let CallOutput::Value(value) = self.printed(call, scope)?
                    // As in handlebars.js, the value of a block helper is not escaped.
                    && let Some(value) = value.get()
                {
                    javascript::write(self.pass, value, None)?;
                }
                Ok(BranchOutcome::Done)
            }
            CallKind::Variable | CallKind::Ambiguous | CallKind::Function => {
                let value = self.section_value(call, scope)?;
                self.section(value.get(), branches.body, scope)
            }
        }
    }

    /// Writes the result of a block helper unescaped.
    fn append(&mut self, answer: HelperResult) -> Result<(), StopReason> {
        match answer {
            HelperResult::Value(value) => javascript::write(self.pass, &value, None),
            HelperResult::Safe(text) => self.pass.write(&text),
            HelperResult::Written => Ok(()),
        }
    }

    pub(super) fn optional(
        &mut self,
        body: Option<&BlockBody>,
        scope: &Scope<'_>,
    ) -> Result<(), StopReason> {
        match body {
            Some(body) => self.body(body, scope, Some(scope.context)),
            None => Ok(()),
        }
    }

    /// Evaluates `if` and `unless`.
    fn condition(
        &mut self,
        call: &CallExpr,
        wanted: bool,
        body: Option<&BlockBody>,
        scope: &Scope<'_>,
    ) -> Result<BranchOutcome, StopReason> {
        let value = self.only(call, scope)?;
        let mut zero = false;
        for (name, expr) in &call.named {
            // Unknown options are also evaluated, so that calls in them are made.
            let option = self.value(expr, scope)?;
            zero |= &**name == "includeZero" && option.get().is_some_and(javascript::is_true);
        }
        let holds = match value.get() {
            // `includeZero` is the only option that changes which values are empty.
            Some(value) if zero => !is_empty(value),
            Some(value) => javascript::is_true(value) && !is_empty(value),
            None => false,
        };
        if holds != wanted {
            return Ok(BranchOutcome::Next);
        }
        self.optional(body, scope)?;
        Ok(BranchOutcome::Done)
    }

    /// Returns the only argument of a helper.
    fn only<'s>(
        &mut self,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        match call.positional.as_slice() {
            [expr] => self.value(expr, scope),
            others => {
                let name = call.path.parts.first().map_or("", |name| &**name);
                let count = others.len();
                Err(fail(format!(
                    "#{name} requires exactly one argument, not {count}"
                )))
            }
        }
    }

    fn with(
        &mut self,
        call: &CallExpr,
        body: Option<&BlockBody>,
        scope: &Scope<'_>,
    ) -> Result<BranchOutcome, StopReason> {
        let value = self.only(call, scope)?;
        self.options(call, scope)?;
        let Some(value) = value.get().filter(|value| !is_empty(value)) else {
            return Ok(BranchOutcome::Next);
        };
        let params = [Some(value), None];
        self.inner(body, Some(value), None, params, scope)?;
        Ok(BranchOutcome::Done)
    }

    /// Evaluates named arguments that have no meaning, so that calls in them are made.
    fn options(&mut self, call: &CallExpr, scope: &Scope<'_>) -> Result<(), StopReason> {
        for (_, expr) in &call.named {
            self.value(expr, scope)?;
        }
        Ok(())
    }

    fn iterated<'s>(
        &mut self,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        let value = match call.positional.as_slice() {
            [expr] => self.value(expr, scope)?,
            [] => return Err(fail("Must pass iterator to #each")),
            _ => return Err(fail("#each requires exactly one argument")),
        };
        self.options(call, scope)?;
        Ok(value)
    }

    /// Renders a body for each item of a list or each entry of an object.
    fn each(
        &mut self,
        value: Option<&Value>,
        body: Option<&BlockBody>,
        scope: &Scope<'_>,
    ) -> Result<BranchOutcome, StopReason> {
        // The loop enters one location and overwrites its last element in each iteration.
        let entered = self.pass.entered();
        self.pass.enter(0);
        let turn = self.turns(value, body, scope);
        self.pass.leave(entered);
        turn
    }

    fn turns(
        &mut self,
        value: Option<&Value>,
        body: Option<&BlockBody>,
        scope: &Scope<'_>,
    ) -> Result<BranchOutcome, StopReason> {
        match value.map(Value::represented_value) {
            Some(Value::List(list)) if !list.is_empty() => {
                for (index, item) in list.iter().enumerate() {
                    let last = index + 1 == list.len();
                    self.turn(body, item, Key::Index(index), index, last, scope)?;
                }
            }
            Some(Value::Map(map)) if !map.is_empty() => {
                for (index, (key, value)) in map.iter().enumerate() {
                    let last = index + 1 == map.len();
                    self.turn(body, value, Key::Name(key), index, last, scope)?;
                }
            }
            _ => return Ok(BranchOutcome::Next),
        }
        Ok(BranchOutcome::Done)
    }

    fn turn(
        &mut self,
        body: Option<&BlockBody>,
        item: &Value,
        key: Key<'_>,
        index: usize,
        last: bool,
        scope: &Scope<'_>,
    ) -> Result<(), StopReason> {
        // Each iteration is a step even with an empty body, so that long lists count.
        self.pass.step()?;
        self.pass.turn(index);
        let data = FrameData::Turn { key, index, last };
        let frame = DataFrame {
            data,
            parent: scope.frame,
        };
        match body {
            // The key is created only if the body uses it.
            Some(body) if body.params > 1 => {
                let key = key.value();
                let params = [Some(item), Some(&key)];
                self.inner(Some(body), Some(item), Some(&frame), params, scope)
            }
            body => self.inner(body, Some(item), Some(&frame), [Some(item), None], scope),
        }
    }

    /// Renders a body in another context and with block parameters.
    pub(super) fn inner(
        &mut self,
        body: Option<&BlockBody>,
        context: Option<&Value>,
        frame: Option<&DataFrame<'_>>,
        params: [Option<&Value>; 2],
        scope: &Scope<'_>,
    ) -> Result<(), StopReason> {
        let Some(body) = body else { return Ok(()) };
        let params = BlockParams {
            values: params,
            parent: scope.params,
        };
        // In handlebars.js an unchanged context adds no level for `../`.
        let stays = same(context, scope.context.value);
        let context = ContextStack {
            value: context,
            parent: if stays {
                scope.context.parent
            } else {
                Some(scope.context)
            },
        };
        let inner = Scope {
            context: &context,
            frame: frame.or(scope.frame),
            // A block without parameters must not hide the parameters of outer blocks.
            params: match body.params {
                0 => scope.params,
                _ => Some(&params),
            },
            ..*scope
        };
        self.body(body, &inner, Some(scope.context))
    }

    /// Evaluates the value of a section `{{#name}}`.
    fn section_value<'s>(
        &mut self,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        let called = match &call.kind {
            CallKind::Variable => return self.head(&call.path, scope),
            CallKind::Ambiguous => match self.ambiguous(call, scope)? {
                CallOutput::Value(value) => return Ok(value),
                // The section depends on a pending call.
                _ => return Err(StopReason::Suspended),
            },
            _ => self.late(call, scope)?,
        };
        match called {
            crate::CallState::Ready(value) => Ok(ScopedValue::Made(value)),
            crate::CallState::Pending => Err(StopReason::Suspended),
        }
    }

    /// Renders a section, like `blockHelperMissing` of handlebars.js.
    fn section(
        &mut self,
        value: Option<&Value>,
        body: Option<&BlockBody>,
        scope: &Scope<'_>,
    ) -> Result<BranchOutcome, StopReason> {
        // An empty fallback value renders `{{else}}`.
        if value.is_some_and(|value| value.is_fallback() && is_empty(value)) {
            return Ok(BranchOutcome::Next);
        }
        match value.map(Value::represented_value) {
            None | Some(Value::Null | Value::Bool(false)) => return Ok(BranchOutcome::Next),
            // The value `true` keeps the outer context.
            Some(Value::Bool(true)) => self.optional(body, scope)?,
            Some(list @ Value::List(_)) => return self.each(Some(list), body, scope),
            value => self.inner(body, value, None, [None, None], scope)?,
        }
        Ok(BranchOutcome::Done)
    }
}

/// Whether handlebars.js treats a value as empty: all false values except zero, and an empty list.
fn is_empty(value: &Value) -> bool {
    match value.represented_value() {
        Value::List(list) => list.is_empty(),
        Value::Int(_) => false,
        Value::Float(number) => number.is_nan(),
        other => !javascript::is_true(other),
    }
}
