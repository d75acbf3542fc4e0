//! Evaluation of statements. Expressions are in [`super::operand`], calls in [`super::call`].

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use quillet_core::{LineColumn, Span, nearest};

use super::JinjaTemplate;
use super::ast::{
    AssignTarget, BinaryOperator, Block, Expr, ExprKind, FilterCall, Statement, StatementKind,
};
use super::scope::{NameStack, NameTable, ValueRef};
use super::source::source;
use super::value::{List, MacroValue, Sort, Value};
use crate::structure;
use crate::{ErrorKind, LimitKind, Missing, Pass, RenderError, StopReason};

/// Maximum depth of expressions and bodies, including macros. Each level needs a few hundred bytes
/// of the 2 MiB stack, and several kilobytes in a debug build.
const MAX_LEVELS: usize = 400;

/// Size of a list item in bytes.
pub(super) const VALUE_SIZE: usize = size_of::<Value>();

pub(super) fn fail(reason: impl Into<String>) -> StopReason {
    RenderError::new(ErrorKind::Execution, reason).into()
}

pub(super) struct Evaluator<'t, 'p> {
    pub(super) compiled: &'t JinjaTemplate,
    pub(super) pass: &'t mut Pass<'p>,
    pub(super) names: NameStack<'p>,
    pub(super) namespaces: Vec<IndexMap<Arc<str>, Value>>,
    pub(super) captures: Vec<String>,
    /// Definitions of every block with their sources. The first one is rendered.
    pub(super) blocks: NameTable<Vec<(usize, Arc<Block>)>>,
    /// The source that the current one extends.
    pub(super) parent: Option<usize>,
    levels: usize,
    /// Depth of macros, includes and blocks.
    pub(super) templates: usize,
}

/// Control flow after a statement.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    /// It is unknown whether the loop continues.
    Lost,
}

impl<'t, 'p> Evaluator<'t, 'p> {
    pub(super) fn new(compiled: &'t JinjaTemplate, pass: &'t mut Pass<'p>) -> Self {
        Evaluator {
            compiled,
            names: NameStack::new(compiled, pass.variables()),
            pass,
            namespaces: Vec::new(),
            captures: Vec::new(),
            blocks: NameTable::default(),
            parent: None,
            levels: 0,
            templates: 0,
        }
    }

    pub(super) fn step(&mut self) -> Result<(), StopReason> {
        self.pass.step()
    }

    /// Charges for a scan of this number of bytes.
    pub(super) fn scan(&mut self, bytes: usize) -> Result<(), StopReason> {
        // A scan of 256 bytes costs about as much as a step.
        self.pass.steps(bytes / 256)
    }

    /// Charges for a text or list of this number of bytes.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), StopReason> {
        self.pass.charge(bytes)?;
        self.scan(bytes)
    }

    /// Creates a list. Its depth is limited, so printing, comparing and dropping the list cannot
    /// overflow the stack.
    pub(super) fn list(&mut self, sort: Sort, items: Vec<Value>) -> Result<Value, StopReason> {
        let sort = self.script_sort(sort);
        let list = Value::List(List::new(sort, items));
        self.check_depth(&list)?;
        Ok(list)
    }

    pub(super) fn check_depth(&self, value: &Value) -> Result<(), StopReason> {
        // The depth is checked whenever a container grows, so a value deeper than the limit cannot
        // exist.
        if value.depth() > quillet_core::value::MAX_DEPTH {
            Err(self.pass.limit(LimitKind::ValueDepth))
        } else {
            Ok(())
        }
    }

    pub(super) fn strict(&self) -> bool {
        self.compiled.missing == Missing::Strict
    }

    /// Handles access inside an undefined value. jinja2 allows it unless the template is strict or
    /// the name is required.
    pub(super) fn undefined_is_used(&self, path: Option<&str>) -> Result<(), StopReason> {
        let required = |name| self.compiled.required.iter().any(|known| known == name);
        // Strict templates reject all names, and other templates only the names that the caller
        // requires.
        if self.strict() || path.is_some_and(required) {
            Err(self.undefined(path))
        } else {
            Ok(())
        }
    }

    /// Creates the error for the use of an undefined value.
    pub(super) fn undefined(&self, path: Option<&str>) -> StopReason {
        let reason = match path {
            Some(path) => format!("'{path}' is undefined"),
            None => "the value is undefined".to_owned(),
        };
        let mut error = RenderError::new(ErrorKind::MissingVariable, reason);
        let names = self.pass.variables().iter().map(|(name, _)| &**name);
        error.help = path
            .and_then(|path| nearest(path, names))
            .map(|near| format!("did you mean {near}?"));
        error.into()
    }

    /// Adds the location to an error that has none.
    #[cold]
    pub(super) fn place(&self, stop: StopReason, span: Span) -> StopReason {
        let StopReason::Failed(mut error) = stop else {
            return stop;
        };
        // An outer statement must not replace the location of an inner statement.
        if error.span.is_none() {
            let (name, text) = self.compiled.source(self.names.source);
            let at = LineColumn::of(text, span.start);
            error.message = format!("{name}:{}:{}: {}", at.line, at.column, error.reason);
            error.source_name = name.to_owned();
            error.span = Some(span);
            error.position = Some(at);
        }
        StopReason::Failed(error)
    }

    /// Increments the depth while `run` runs.
    pub(super) fn level<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, StopReason>,
    ) -> Result<T, StopReason> {
        self.levels += 1;
        if self.levels > MAX_LEVELS {
            // An error needs no decrement, because it ends the render.
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        let result = run(self);
        self.levels -= 1;
        result
    }

    /// Increments the depth of macros, includes and blocks while `run` runs.
    pub(super) fn template<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, StopReason>,
    ) -> Result<T, StopReason> {
        self.templates += 1;
        if self.templates > self.pass.limits().nesting {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        let result = self.level(run);
        self.templates -= 1;
        result
    }

    /// Writes the template's own text.
    fn literal(&mut self, text: &str) -> Result<(), StopReason> {
        // Captured text becomes a value that may be printed later, so it is not recorded as
        // literal.
        if self.at_output() {
            self.pass.literal(text)
        } else {
            self.write(text)
        }
    }

    pub(super) fn write(&mut self, text: &str) -> Result<(), StopReason> {
        if self.captures.is_empty() {
            return self.pass.write(text);
        }
        // Captured text counts as memory. Output has a separate limit.
        self.charge(text.len())?;
        if let Some(capture) = self.captures.last_mut() {
            capture.push_str(text);
        }
        Ok(())
    }

    /// Whether printed text goes directly to the output.
    pub(super) fn at_output(&self) -> bool {
        self.captures.is_empty()
    }

    /// Returns the output of `run` as a text, or a placeholder if `run` printed one.
    pub(super) fn captured(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<(), StopReason>,
    ) -> Result<Value, StopReason> {
        // A pending call in the captured text must be distinguished from earlier pending calls.
        let before = self.pass.forget_pending();
        let (text, ran) = self.caught(run);
        let pending = self.pass.recall_pending(before);
        // As in a sequential render, an error wins over a pending call.
        ran?;
        if pending {
            Err(StopReason::Suspended)
        } else {
            Ok(text.into())
        }
    }

    pub(super) fn caught(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<(), StopReason>,
    ) -> (String, Result<(), StopReason>) {
        let depth = self.captures.len();
        self.captures.push(String::new());
        let ran = run(self);
        // An error may leave inner captures open.
        self.captures.truncate(depth + 1);
        (self.captures.pop().unwrap_or_default(), ran)
    }

    /// Prepares a value for inspection or change. Captured text may contain marks of message
    /// structure. The marks are removed, so that no part of their secret can be printed.
    pub(super) fn unmarked<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        let Value::Str(text) = value else {
            return Cow::Borrowed(value);
        };
        // A template without message structure needs no search for marks.
        let text = self.compiled.has_marks().then(|| structure::unmarked(text));
        match text.flatten() {
            Some(text) => Cow::Owned(text.into()),
            None => Cow::Borrowed(value),
        }
    }

    pub(super) fn body(&mut self, body: &[Statement]) -> Result<(), StopReason> {
        self.flow(body).map(|_| ())
    }

    pub(super) fn flow(&mut self, body: &[Statement]) -> Result<Flow, StopReason> {
        // A skipped statement may leave locations entered, so `stopped` leaves them.
        let entered = self.pass.entered();
        for statement in body {
            self.step()
                .map_err(|stop| self.place(stop, statement.span))?;
            let holes = self.pass.holes();
            let flow = match self.statement(&statement.kind) {
                Ok(flow) => flow,
                Err(stop) => self.stopped(stop, statement, entered, holes)?,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// Handles a statement that did not complete. If it waits for a call, the next statement is
    /// evaluated.
    #[cold]
    fn stopped(
        &mut self,
        stop: StopReason,
        statement: &Statement,
        entered: usize,
        holes: usize,
    ) -> Result<Flow, StopReason> {
        // Waiting is not an error, so the following statements are evaluated to register their
        // calls.
        if let StopReason::Suspended = stop {
            self.pass.leave(entered);
            return self.skip(statement, holes);
        }
        Err(self.place(stop, statement.span))
    }

    fn statement(&mut self, statement: &StatementKind) -> Result<Flow, StopReason> {
        match statement {
            StatementKind::Text(place) => {
                let text = self.compiled.literal(self.names.source, place);
                self.literal(text)?;
            }
            StatementKind::Print(expr) => {
                let start = self.pass.begin_value();
                self.print(expr)?;
                let (_, text) = self.compiled.source(self.names.source);
                let name = |place: Span| text.get(place.start..place.end).map(str::to_owned);
                self.pass.end_value(start, || source(expr).and_then(name))?;
            }
            StatementKind::Do(expr) => self.drop_value(expr)?,
            StatementKind::If {
                branches,
                otherwise,
            } => return self.if_tag(branches, otherwise),
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Group(body) => return self.level(|e| e.flow(body)),
            StatementKind::With(bindings, body) => return self.with(bindings, body),
            StatementKind::For(node) => self.for_tag(node)?,
            StatementKind::Set(target, value) => {
                let value = self.eval(value)?;
                self.assign_target(target, value)?;
            }
            StatementKind::SetBlock(target, filters, body) => {
                let value = self.filtered_body(filters, body)?;
                self.assign_target(target, value)?;
            }
            StatementKind::FilterBlock(filters, body) => {
                let value = self.filtered_body(filters, body)?;
                self.print_value(&value)?;
            }
            StatementKind::Macro(declared) => {
                let value = self.macro_value(declared)?;
                self.names.assign(&declared.name, value);
            }
            StatementKind::CallBlock(call, declared) => {
                let caller = self.macro_value(declared)?;
                self.call_block(call, caller)?;
            }
            // The parent template determines where its blocks are rendered.
            StatementKind::Block(_) if self.parent.is_some() => {}
            StatementKind::Block(block) => self.block(&block.name, 0)?,
            StatementKind::Extends(name) => self.extends(name)?,
            StatementKind::Include {
                name,
                ignore_missing,
                context,
            } => self.include(name, *ignore_missing, *context)?,
            StatementKind::Import {
                name,
                target,
                context,
            } => {
                let base = self.import(name, *context)?;
                self.names.assign(target, Value::Module(base));
            }
            StatementKind::FromImport {
                name,
                names,
                context,
            } => self.import_names(name, names, *context)?,
        }
        Ok(Flow::Next)
    }

    /// Evaluates an expression only for its effects, without waiting for its value.
    fn drop_value(&mut self, expr: &Expr) -> Result<(), StopReason> {
        match &expr.kind {
            // The result is dropped, so the statement is not skipped if the call is pending.
            ExprKind::Call(callee, arguments) => self.call(callee, arguments).map(drop),
            _ => self.eval(expr).map(drop),
        }
    }

    fn print(&mut self, expr: &Expr) -> Result<(), StopReason> {
        // This applies only to direct output, because captured text must be complete.
        if let (true, ExprKind::Call(callee, arguments)) = (self.at_output(), &expr.kind) {
            // The value is only printed, so a pending call leaves a placeholder.
            let called = self.call(callee, arguments);
            return match called.map_err(|stop| self.place(stop, expr.span))? {
                Some(value) => self.print_value(&value),
                None => Ok(()),
            };
        }
        if self.print_seen(expr)? {
            return Ok(());
        }
        let value = self.eval(expr)?;
        let printed = self.print_value(&value);
        printed.map_err(|stop| self.place(stop, expr.span))
    }

    /// Prints texts without a copy, including concatenations of texts. Returns false for other
    /// values.
    fn print_seen(&mut self, expr: &Expr) -> Result<bool, StopReason> {
        // Captured text must be charged, which this path does not do.
        if !self.at_output() {
            return Ok(false);
        }
        let names = &self.names;
        let is_text = |expr: &Expr| names.borrow_expr(expr).and_then(ValueRef::as_str).is_some();
        match &expr.kind {
            ExprKind::Math(first, rest) => {
                let added = |(operator, right): &(BinaryOperator, Expr)| {
                    *operator == BinaryOperator::Add && is_text(right)
                    // Only additions of strings are printed here. `+` on other values is
                    // arithmetic.
                };
                if !is_text(first) || !rest.iter().all(added) {
                    return Ok(false);
                }
                let rest = rest.iter().map(|(_, right)| right);
                for part in std::iter::once(&**first).chain(rest) {
                    self.write_seen(part)?;
                }
                Ok(true)
            }
            ExprKind::Concat(parts) if parts.iter().all(is_text) => {
                for part in parts {
                    self.write_seen(part)?;
                }
                Ok(true)
            }
            _ => self.write_seen(expr),
        }
    }

    #[inline]
    fn write_seen(&mut self, expr: &Expr) -> Result<bool, StopReason> {
        match self.names.borrow_expr(expr).and_then(ValueRef::as_str) {
            Some(text) => self.pass.write(text).map(|()| true),
            None => Ok(false),
        }
    }

    fn print_value(&mut self, value: &Value) -> Result<(), StopReason> {
        match value {
            Value::Int(int) if self.at_output() => self.pass.write_int(*int),
            Value::Str(text) => self.write(text),
            _ => match self.bulleted(value)? {
                Some(text) => self.write(&text),
                None => {
                    let text = self.text(value)?;
                    self.write(&text)
                }
            },
        }
    }

    fn if_tag(
        &mut self,
        branches: &[(Expr, Vec<Statement>)],
        otherwise: &[Statement],
    ) -> Result<Flow, StopReason> {
        for (condition, body) in branches {
            if self.condition(condition)? {
                return self.level(|e| e.flow(body));
            }
        }
        self.level(|e| e.flow(otherwise))
    }

    fn with(
        &mut self,
        bindings: &[(AssignTarget, Expr)],
        body: &[Statement],
    ) -> Result<Flow, StopReason> {
        let mut values = Vec::with_capacity(bindings.len());
        for (index, (_, value)) in bindings.iter().enumerate() {
            // jinja2 evaluates all values before it binds a name, so a value cannot use another
            // binding of the same tag.
            let rest = bindings.iter().skip(index + 1).map(|(_, value)| value);
            values.push(self.operand(value, rest)?);
        }
        let scope = self.names.open();
        for ((target, _), value) in bindings.iter().zip(values) {
            self.assign_target(target, value)?;
        }
        let flow = self.level(|e| e.flow(body))?;
        self.names.close(&scope);
        Ok(flow)
    }

    fn filtered_body(
        &mut self,
        filters: &[FilterCall],
        body: &[Statement],
    ) -> Result<Value, StopReason> {
        let scope = self.names.open();
        // The scope is closed even after an error, so that a skipped statement leaves consistent
        // names.
        let value = self.captured(|e| e.level(|e| e.body(body)));
        self.names.close(&scope);
        let mut value = value?;
        for filter in filters {
            let filtered = self.filter(&value, filter);
            value = filtered.map_err(|stop| self.place(stop, filter.span))?;
        }
        Ok(value)
    }

    fn macro_value(&mut self, declared: &Arc<super::ast::Macro>) -> Result<Value, StopReason> {
        let visible = self.names.visible();
        // A macro is a closure as in jinja2, so it stores the visible names.
        self.pass.charge(visible.len() * 2 * VALUE_SIZE)?;
        let value = Value::Macro(Rc::new(MacroValue {
            declared: Arc::clone(declared),
            base: self.names.base,
            source: self.names.source,
            captured: visible.to_vec(),
        }));
        // A macro stores values, which may be macros again, so the depth must be limited.
        self.check_depth(&value)?;
        Ok(value)
    }

    pub(super) fn assign_target(
        &mut self,
        target: &AssignTarget,
        value: Value,
    ) -> Result<(), StopReason> {
        match target {
            AssignTarget::Name(name) => self.names.assign(name, value),
            AssignTarget::Field(name, field) => {
                let owner = self.names.own(name);
                // As in jinja2, only a namespace has fields that can be assigned.
                let Some(Value::Namespace(number)) = owner else {
                    return Err(fail("cannot assign attribute on non-namespace object"));
                };
                let number = *number;
                self.pass.charge(2 * VALUE_SIZE)?;
                if let Some(namespace) = self.namespaces.get_mut(number) {
                    namespace.insert(Arc::clone(field), value);
                }
            }
            // Unpacking a failed call gives empty values instead of an error.
            AssignTarget::Tuple(targets) if value.is_fallback() => {
                for target in targets {
                    self.assign_target(target, Value::nothing())?;
                }
            }
            AssignTarget::Tuple(targets) => {
                let values = self.iterate(&value)?;
                if values.len() != targets.len() {
                    return Err(fail(format!(
                        "cannot unpack {} values into {}",
                        values.len(),
                        targets.len()
                    )));
                }
                for (target, value) in targets.iter().zip(values.iter()) {
                    self.assign_target(target, value)?;
                }
            }
        }
        Ok(())
    }
}
