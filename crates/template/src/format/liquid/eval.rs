//! Evaluator of templates. [`super::blocks`] and [`super::partials`] evaluate tags, and
//! [`super::operand`] evaluates values.

use std::borrow::Cow;
use std::sync::Arc;

use quillet_core::{LineColumn, Span, Value as Data, nearest};

use super::LiquidTemplate;
use super::ast::{Body, ExprKind, FilterCall, FilteredExpr, Key, Lookup, Name, Node, NodeKind};
use super::number::NumberError;
use super::scope::{Interrupt, RenderScope};
use super::value::{self, Value};
use crate::structure;
use crate::{CallState, ErrorKind, LimitKind, Missing, Pass, RenderError, StopReason};

/// Maximum depth of bodies and partials. Each level needs a few hundred bytes of the 2 MiB stack,
/// and several kilobytes in a debug build.
const MAX_LEVELS: usize = 400;

/// Size of a list item in bytes.
pub(super) const VALUE_SIZE: usize = size_of::<Data>();

pub(super) fn fail(reason: impl Into<String>) -> StopReason {
    RenderError::new(ErrorKind::Execution, reason).into()
}

pub(super) struct Evaluator<'t, 'p> {
    pub(super) compiled: &'t LiquidTemplate,
    pub(super) pass: &'t mut Pass<'p>,
    pub(super) world: RenderScope<'p>,
    /// Index of the current source.
    pub(super) source: usize,
    levels: usize,
    /// Depth of partials.
    pub(super) partials: usize,
}

impl<'t, 'p> Evaluator<'t, 'p> {
    pub(super) fn new(compiled: &'t LiquidTemplate, pass: &'t mut Pass<'p>) -> Self {
        Evaluator {
            compiled,
            world: RenderScope::new(pass.variables()),
            pass,
            source: 0,
            levels: 0,
            partials: 0,
        }
    }

    pub(super) fn run(&mut self, source: usize) -> Result<(), StopReason> {
        let compiled = self.compiled;
        self.source = source;
        match compiled.body(source) {
            Some(body) => self.body(body),
            None => Ok(()),
        }
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

    pub(super) fn is_strict(&self) -> bool {
        self.compiled.missing == Missing::Strict
    }

    /// Adds the location to an error that has none.
    pub(super) fn place(&self, stop: StopReason, span: Span) -> StopReason {
        let StopReason::Failed(mut error) = stop else {
            return stop;
        };
        // An outer tag must not replace the location of an inner tag.
        if error.span.is_none() {
            let (name, text) = self.compiled.source(self.source);
            let at = LineColumn::of(text, span.start);
            error.message = format!("{name}:{}:{}: {}", at.line, at.column, error.reason);
            error.source_name = name.to_owned();
            error.span = Some(span);
            error.position = Some(at);
        }
        StopReason::Failed(error)
    }

    /// Creates the error for a missing variable.
    pub(super) fn undefined(&self, path: &str) -> StopReason {
        let reason = format!("undefined variable {path}");
        let mut error = RenderError::new(ErrorKind::MissingVariable, reason);
        // Suggestions are for the name of the variable, not for its fields.
        let first = path.split(['.', '[']).next().unwrap_or(path);
        error.help = nearest(first, self.world.names())
            // The variable may exist without the field.
            .filter(|near| *near != first)
            .map(|near| format!("did you mean {near}?"));
        error.into()
    }

    /// Converts the error of a calculation.
    pub(super) fn fault(&self, fault: NumberError) -> StopReason {
        fail(match fault {
            NumberError::ByZero => "divided by 0",
            NumberError::TooLarge => "the whole number does not fit into 64 bits",
            NumberError::NotFinite => "an infinite number has no whole part",
        })
    }

    /// Increments the depth while `run` runs.
    pub(super) fn level<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, StopReason>,
    ) -> Result<T, StopReason> {
        self.levels += 1;
        if self.levels > MAX_LEVELS {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        let result = run(self);
        self.levels -= 1;
        result
    }

    /// Renders a body up to its end, or to a tag that leaves it.
    pub(super) fn body(&mut self, body: &'t Body) -> Result<(), StopReason> {
        self.level(|e| e.nodes(body))
    }

    fn nodes(&mut self, body: &'t Body) -> Result<(), StopReason> {
        let entered = self.pass.entered();
        let scope = self.world.open();
        let loops = self.world.loops.len();
        for node in body {
            self.pass
                .step()
                .map_err(|stop| self.place(stop, node.span))?;
            // Literal text is the most common node and needs no saved state.
            if let NodeKind::Text(place) = &node.kind {
                let text = self.compiled.literal(self.source, place);
                self.pass.literal(text)?;
                continue;
            }
            let holes = self.pass.holes();
            match self.node(node) {
                Err(StopReason::Suspended) => {
                    // A skipped node may leave locations, scopes and loops open.
                    self.pass.leave(entered);
                    self.world.close(scope);
                    self.world.loops.truncate(loops);
                    self.skip(node, holes)?;
                }
                done => done.map_err(|stop| self.place(stop, node.span))?,
            }
            // A `break` or `continue` was evaluated, so the rest of this body is skipped.
            if !self.world.interrupts.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn node(&mut self, node: &'t Node) -> Result<(), StopReason> {
        match &node.kind {
            NodeKind::Text(place) | NodeKind::Raw(place) => {
                let text = self.compiled.literal(self.source, place);
                self.pass.literal(text)
            }
            NodeKind::Nothing => Ok(()),
            NodeKind::Print(piped) => self.print(piped),
            NodeKind::Assign(name, piped) => {
                let value = self.piped(piped)?;
                self.world.assign(name, value);
                Ok(())
            }
            NodeKind::Capture(name, body) => {
                let text = self.captured(|e| e.body(body))?;
                self.world.assign(name, Value::from(text));
                Ok(())
            }
            NodeKind::If(node) => self.if_tag(node),
            NodeKind::Case(node) => self.case(node),
            NodeKind::For(looped) => self.for_tag(looped, node.span),
            NodeKind::TableRow(table) => self.table_row(table, node.span),
            NodeKind::Cycle(node) => self.cycle(node),
            NodeKind::Increment(name) => self.count(name, 0, 1),
            NodeKind::Decrement(name) => self.count(name, -1, -1),
            NodeKind::IfChanged(body) => self.if_changed(body),
            NodeKind::Include(partial) => self.include(partial, node.span),
            NodeKind::Render(partial) => self.render(partial, node.span),
            NodeKind::Break => {
                self.world.interrupts.push(Interrupt::Break);
                Ok(())
            }
            NodeKind::Continue => {
                self.world.interrupts.push(Interrupt::Continue);
                Ok(())
            }
        }
    }

    /// Returns the output of `run` as a text, or a placeholder if `run` printed one.
    pub(super) fn captured(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<(), StopReason>,
    ) -> Result<String, StopReason> {
        let held = self.pass.capture();
        // The result is examined later, because an error must not leave the capture open.
        let ran = run(self);
        let (bytes, pending) = self.pass.release(held);
        // As in a sequential render, an error wins over a pending call.
        ran?;
        if pending {
            return Err(StopReason::Suspended);
        }
        self.charge(bytes.len())?;
        Ok(String::from_utf8(bytes).unwrap_or_default())
    }

    fn print(&mut self, piped: &'t FilteredExpr) -> Result<(), StopReason> {
        let start = self.pass.begin_value();
        self.print_value(piped)?;
        let (_, text) = self.compiled.source(self.source);
        let name = |place: Span| text.get(place.start..place.end).map(str::to_owned);
        self.pass.end_value(start, || source(piped).and_then(name))
    }

    fn print_value(&mut self, piped: &'t FilteredExpr) -> Result<(), StopReason> {
        if self.print_seen(piped)? {
            return Ok(());
        }
        match self.piped_or_hole(piped)? {
            // The value is only printed, so a pending call leaves a placeholder.
            None => Ok(()),
            Some(value) => self.write(&value),
        }
    }

    /// Prints a text or a whole number without copying. Returns false for other values.
    fn print_seen(&mut self, piped: &FilteredExpr) -> Result<bool, StopReason> {
        // The text of a prepared variable must be marked first.
        if !piped.filters.is_empty() || !self.compiled.takes_as_is() {
            return Ok(false);
        }
        let Some(ExprKind::Lookup(lookup)) = piped.value.as_ref().map(|expr| &expr.kind) else {
            return Ok(false);
        };
        match borrow_lookup(&self.world, lookup) {
            Some(Data::Str(text)) => self.pass.write(text).map(|()| true),
            Some(Data::Int(number)) => self.pass.write_int(*number).map(|()| true),
            _ => Ok(false),
        }
    }

    pub(super) fn write(&mut self, value: &Value) -> Result<(), StopReason> {
        match value {
            Value::Data(Data::Str(text)) => self.pass.write(text),
            Value::Data(Data::Int(number)) => self.pass.write_int(*number),
            // Printing a list joins its items, but converting it to text adds brackets.
            Value::Data(value) if matches!(value.represented_value(), Data::List(_)) => {
                self.charge(value.weight())?;
                let mut out = String::new();
                value::write(value, &mut out);
                self.pass.write(&out)
            }
            other => {
                let text = self.text(other)?;
                self.pass.write(&text)
            }
        }
    }

    /// Returns the text of a value. The text of a list has brackets.
    pub(super) fn text(&mut self, value: &Value) -> Result<Arc<str>, StopReason> {
        Ok(match value {
            Value::Data(value) => {
                // A string is shared instead of copied.
                if let Data::Str(text) = value.represented_value() {
                    return Ok(Arc::clone(text));
                }
                let weight = value.weight();
                self.charge(weight)?;
                let mut out = String::new();
                match value.represented_value() {
                    list @ Data::List(_) => value::inspect(list, &mut out),
                    value => value::write(value, &mut out),
                }
                // Quotes and control characters become longer when they are escaped.
                self.charge(out.len().saturating_sub(weight))?;
                out.into()
            }
            Value::Range(from, to) => format!("{from}..{to}").into(),
            // Ruby prints the class name of these objects.
            Value::Loop(_) => "Liquid::ForloopDrop".into(),
            Value::Rows(_) => "Liquid::TablerowloopDrop".into(),
            Value::Hole => return Err(StopReason::Suspended),
        })
    }

    /// Prepares a value for inspection or change. Captured text may contain marks of message
    /// structure. The marks are removed, so that no part of their secret can be printed.
    pub(super) fn unmarked<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        match value {
            Value::Data(Data::Str(text)) if self.compiled.has_marks() => {
                let unmarked = structure::unmarked(text);
                unmarked.map_or(Cow::Borrowed(value), |text| Cow::Owned(text.into()))
            }
            _ => Cow::Borrowed(value),
        }
    }

    /// Evaluates a value with its filters.
    pub(super) fn piped(&mut self, piped: &'t FilteredExpr) -> Result<Value, StopReason> {
        self.piped_or_hole(piped)?.ok_or(StopReason::Suspended)
    }

    /// Like [`Evaluator::piped`], but returns `None` if the last filter is a pending call.
    fn piped_or_hole(&mut self, piped: &'t FilteredExpr) -> Result<Option<Value>, StopReason> {
        let Some(expr) = &piped.value else {
            return Ok(Some(Value::NIL));
        };
        // With a `default` filter, a missing value is not an error.
        let has_default = piped
            .filters
            .first()
            .is_some_and(|call| &*call.name == "default");
        // As in Liquid, `default` must be the first filter to handle a missing value.
        let mut value = if has_default {
            self.optional(expr)?
        } else {
            self.eval(expr)?
        };
        let is_nil = matches!(expr.kind, ExprKind::Nil);
        for (index, call) in piped.filters.iter().enumerate() {
            let applied = self.filter(&value, call, is_nil && index == 0);
            value = match applied.map_err(|stop| self.place(stop, call.span))? {
                Some(value) => value,
                // A pending result can only be printed, because a filter would inspect it.
                None if index + 1 == piped.filters.len() => return Ok(None),
                None => return Err(StopReason::Suspended),
            };
        }
        Ok(Some(value))
    }

    /// Applies a filter or calls a function. Returns `None` for a pending call.
    fn filter(
        &mut self,
        value: &Value,
        call: &'t FilterCall,
        no_input: bool,
    ) -> Result<Option<Value>, StopReason> {
        self.pass.step()?;
        let mut positional = Vec::with_capacity(call.positional.len());
        for argument in &call.positional {
            positional.push(self.eval(argument)?);
        }
        let mut named = Vec::with_capacity(call.named.len());
        for (name, argument) in &call.named {
            named.push((Arc::clone(name), self.eval(argument)?));
        }
        // A filter of Liquid wins over a function with the same name. `call:` calls the function.
        match call.own {
            Some(filter) => super::filters::apply(self, filter, value, positional, named).map(Some),
            None => {
                let input = (!no_input).then_some(value);
                self.call(call, input, &positional, &named)
            }
        }
    }

    /// Calls a late-bound function. Its first argument is the input, unless that is a literal
    /// `nil`.
    fn call(
        &mut self,
        call: &'t FilterCall,
        input: Option<&Value>,
        positional: &[Value],
        named: &[(Arc<str>, Value)],
    ) -> Result<Option<Value>, StopReason> {
        let meant = self.compiled.function(&call.name, self.pass);
        let name = meant.as_deref().unwrap_or(&call.name);
        // In a strict template, `call_at` reports the unknown function below.
        if !self.pass.has_function(name) && !self.is_strict() {
            // As in Liquid, an unknown filter changes nothing.
            return Ok(Some(input.cloned().unwrap_or(Value::NIL)));
        }
        let mut bound = crate::CallArguments::default();
        for value in input.into_iter().chain(positional) {
            bound.positional.push(self.argument(value)?);
        }
        let mut table = quillet_core::MapTable::default();
        for (name, value) in named {
            table.insert(Arc::clone(name), self.argument(value)?);
        }
        bound.named = quillet_core::Map::new(table);
        let place = [self.source, call.span.start];
        match self.pass.call_at(&place, name, bound)? {
            CallState::Pending => Ok(None),
            // A tool may return a value that is deeper than templates may build.
            CallState::Ready(value) if value.depth() > quillet_core::value::MAX_DEPTH => {
                Err(self.pass.limit(LimitKind::ValueDepth))
            }
            CallState::Ready(value) => self.answered(value).map(Some),
        }
    }

    /// Converts the result of a function. A trusted result may contain messages.
    fn answered(&mut self, value: Data) -> Result<Value, StopReason> {
        match value {
            Data::Str(text) if self.compiled.trusted_results => {
                self.charge(text.len())?;
                Ok(Value::Data(Data::Str(self.compiled.with_tags(&text))))
            }
            value => Ok(Value::Data(value)),
        }
    }

    /// Converts an argument of a function.
    fn argument(&mut self, value: &Value) -> Result<Data, StopReason> {
        self.pass.step()?;
        self.pass.charge(VALUE_SIZE)?;
        match value {
            Value::Data(value) => Ok(value.clone()),
            Value::Range(from, to) => {
                let items = self.numbers(*from, *to)?;
                Ok(items.into())
            }
            Value::Hole => Err(StopReason::Suspended),
            other => {
                let kind = other.kind();
                Err(fail(format!("a {kind} cannot be an argument")))
            }
        }
    }

    /// Returns the numbers of a range.
    pub(super) fn numbers(&mut self, from: i64, to: i64) -> Result<Vec<Data>, StopReason> {
        let length = value::length_of(from, to);
        // The numbers are charged before they are created.
        self.pass.steps(length)?;
        self.charge(length.saturating_mul(VALUE_SIZE))?;
        Ok((from..=to).map(Data::Int).collect())
    }
}

/// Returns a reference to a value inside a variable, if no evaluation is needed.
fn borrow_lookup<'a>(world: &'a RenderScope<'_>, lookup: &Lookup) -> Option<&'a Data> {
    let Name::Known(name) = &lookup.name else {
        // A computed name must be evaluated.
        return None;
    };
    let mut found = world.borrow(name)?;
    for key in &lookup.keys {
        let Key::Name(key) = key else {
            return None;
        };
        found = match found {
            // A fallback value has every field, which only the slow path handles.
            Data::Map(map) if !map.is_fallback() => map.get(key)?,
            _ => return None,
        };
    }
    Some(found)
}

/// Returns the path of the only variable that an output prints, or the name of the called function.
/// Returns `None` if several values contribute.
fn source(piped: &FilteredExpr) -> Option<Span> {
    // The last function is the source. Constant filters after it only change the form of its
    // result.
    let last_call = piped.filters.iter().rposition(|call| call.own.is_none());
    let behind = last_call.map_or(0, |at| at + 1);
    let constant = |call: &FilterCall| {
        let named = call.named.iter().map(|(_, value)| value);
        let mut arguments = call.positional.iter().chain(named);
        arguments.all(super::ast::Expr::is_constant)
    };
    if !piped.filters.iter().skip(behind).all(constant) {
        return None;
    }
    if let Some(call) = last_call.and_then(|at| piped.filters.get(at)) {
        return Some(call.span);
    }
    let expr = piped.value.as_ref()?;
    matches!(expr.kind, ExprKind::Lookup(_)).then_some(expr.span)
}
