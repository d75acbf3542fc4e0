//! Runs statements. Expressions are in [`super::operand`], calls in [`super::call`].

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use quillet_core::{Position, Span, nearest};

use super::Compiled;
use super::ast::{
    Block, Expr, ExprKind, FilterCall, For, Operator, Statement, StatementKind, Target,
};
use super::scope::{Names, Seen, Table};
use super::source::source;
use super::value::{List, Loop, MacroValue, Sort, Value};
use crate::structure;
use crate::{ErrorKind, Limit, Missing, Pass, RenderError, Stop};

/// Expressions and bodies inside each other, macros included. Each level takes
/// a few hundred bytes of a 2 MiB stack, several kilobytes without optimisation.
const MAX_LEVELS: usize = 400;

/// Bytes of one value in a list.
pub(super) const VALUE_SIZE: usize = size_of::<Value>();

pub(super) fn fail(reason: impl Into<String>) -> Stop {
    RenderError::new(ErrorKind::Execution, reason).into()
}

pub(super) struct Evaluator<'t, 'p> {
    pub(super) compiled: &'t Compiled,
    pub(super) pass: &'t mut Pass<'p>,
    pub(super) names: Names<'p>,
    pub(super) namespaces: Vec<IndexMap<Arc<str>, Value>>,
    pub(super) captures: Vec<String>,
    /// Definitions of every block, the one that counts first, with their sources.
    blocks: Table<Vec<(usize, Arc<Block>)>>,
    /// The source that the current one extends.
    parent: Option<usize>,
    levels: usize,
    /// Macros, includes and blocks inside each other.
    templates: usize,
}

/// Where to go on after a statement.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    /// Nothing is known of the rest of the loop.
    Lost,
}

impl<'t, 'p> Evaluator<'t, 'p> {
    pub(super) fn new(compiled: &'t Compiled, pass: &'t mut Pass<'p>) -> Self {
        Evaluator {
            compiled,
            names: Names::new(compiled, pass.variables()),
            pass,
            namespaces: Vec::new(),
            captures: Vec::new(),
            blocks: Table::default(),
            parent: None,
            levels: 0,
            templates: 0,
        }
    }

    pub(super) fn step(&mut self) -> Result<(), Stop> {
        self.pass.step()
    }

    /// Counts the work of looking through so many bytes.
    pub(super) fn scan(&mut self, bytes: usize) -> Result<(), Stop> {
        self.pass.steps(bytes / 256)
    }

    /// Counts bytes that are about to be built, and the work of building them.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Stop> {
        self.pass.charge(bytes)?;
        self.scan(bytes)
    }

    /// A list that a template builds; bounded in depth, so that printing,
    /// comparing and dropping it cannot exhaust the stack.
    pub(super) fn list(&mut self, sort: Sort, items: Vec<Value>) -> Result<Value, Stop> {
        let sort = self.script_sort(sort);
        let list = Value::List(List::new(sort, items));
        self.check_depth(&list)?;
        Ok(list)
    }

    pub(super) fn check_depth(&self, value: &Value) -> Result<(), Stop> {
        match value.depth() > quillet_core::value::MAX_DEPTH {
            true => Err(self.pass.limit(Limit::ValueDepth)),
            false => Ok(()),
        }
    }

    pub(super) fn strict(&self) -> bool {
        self.compiled.missing == Missing::Strict
    }

    /// Something looks into an undefined value in a way that jinja2 allows
    /// unless it is strict.
    pub(super) fn undefined_is_used(&self, path: Option<&str>) -> Result<(), Stop> {
        match self.strict() {
            true => Err(self.undefined(path)),
            false => Ok(()),
        }
    }

    /// The error of an undefined value that is needed.
    pub(super) fn undefined(&self, path: Option<&str>) -> Stop {
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

    /// Adds the place to an error that has none.
    pub(super) fn place(&self, stop: Stop, span: Span) -> Stop {
        let Stop::Failed(mut error) = stop else {
            return stop;
        };
        if error.span.is_none() {
            let (name, text) = self.compiled.source(self.names.source);
            let at = Position::of(text, span.start);
            error.message = format!("{name}:{}:{}: {}", at.line, at.column, error.reason);
            error.source_name = name.to_owned();
            error.span = Some(span);
            error.position = Some(at);
        }
        Stop::Failed(error)
    }

    /// Goes one level down, and back up after `run`.
    pub(super) fn level<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.levels += 1;
        if self.levels > MAX_LEVELS {
            return Err(self.pass.limit(Limit::Nesting));
        }
        let result = run(self);
        self.levels -= 1;
        result
    }

    /// The same for a macro, an include or a block.
    pub(super) fn template<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.templates += 1;
        if self.templates > self.pass.limits().nesting {
            return Err(self.pass.limit(Limit::Nesting));
        }
        let result = self.level(run);
        self.templates -= 1;
        result
    }

    /// Writes the template's own text.
    fn literal(&mut self, text: &str) -> Result<(), Stop> {
        match self.at_output() {
            true => self.pass.literal(text),
            false => self.write(text),
        }
    }

    pub(super) fn write(&mut self, text: &str) -> Result<(), Stop> {
        if self.captures.is_empty() {
            return self.pass.write(text);
        }
        self.charge(text.len())?;
        if let Some(capture) = self.captures.last_mut() {
            capture.push_str(text);
        }
        Ok(())
    }

    /// Whether what is printed now goes straight to the output.
    pub(super) fn at_output(&self) -> bool {
        self.captures.is_empty()
    }

    /// What `run` prints, as a text. It is a hole if one is printed in it.
    pub(super) fn captured(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<Value, Stop> {
        let before = self.pass.forget_pending();
        let (text, ran) = self.caught(run);
        let pending = self.pass.recall_pending(before);
        ran?;
        match pending {
            true => Err(Stop::Suspended),
            false => Ok(text.into()),
        }
    }

    fn caught(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> (String, Result<(), Stop>) {
        let depth = self.captures.len();
        self.captures.push(String::new());
        let ran = run(self);
        self.captures.truncate(depth + 1);
        (self.captures.pop().unwrap_or_default(), ran)
    }

    /// A value that is about to be looked into or changed. A text that was
    /// captured may have marks of message structure; they are whole or gone, so
    /// that no letter of the secret is ever printed.
    pub(super) fn unmarked<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        let Value::Str(text) = value else {
            return Cow::Borrowed(value);
        };
        let text = self.compiled.has_marks().then(|| structure::unmarked(text));
        match text.flatten() {
            Some(text) => Cow::Owned(text.into()),
            None => Cow::Borrowed(value),
        }
    }

    // Sources, blocks, imports.

    /// Evaluates a source from its start, and the one that it extends.
    pub(super) fn entry(&mut self, index: usize) -> Result<(), Stop> {
        let mut next = Some(index);
        while let Some(index) = next {
            self.names.source = index;
            let Some(program) = self.compiled.program(index) else {
                return Ok(());
            };
            for block in &program.blocks {
                let chain = self.blocks.entry(Arc::clone(&block.name)).or_default();
                chain.push((index, Arc::clone(block)));
            }
            let outer = self.captures.len();
            self.level(|e| e.body(&program.body))?;
            // What a child prints outside its blocks is dropped.
            self.captures.truncate(outer);
            next = self.parent.take();
            self.pass.step()?;
        }
        Ok(())
    }

    fn find_source(&mut self, name: &Value) -> Result<Option<usize>, Stop> {
        if let Value::List(names) = name {
            for name in names.iter() {
                if let Some(found) = self.find_source(&name)? {
                    return Ok(Some(found));
                }
            }
            return Ok(None);
        }
        let name = self.text(name)?;
        Ok(self.compiled.index(&name))
    }

    fn needed_source(&mut self, name: &Expr) -> Result<usize, Stop> {
        let value = self.eval(name)?;
        if let Some(found) = self.find_source(&value)? {
            return Ok(found);
        }
        let text = self.repr(&value)?;
        let stop = fail(format!("template {text} does not exist"));
        Err(self.place(stop, name.span))
    }

    fn extends(&mut self, name: &Expr) -> Result<(), Stop> {
        if self.parent.is_some() {
            return Err(self.place(fail("extended multiple times"), name.span));
        }
        self.templates += 1;
        if self.templates > self.pass.limits().nesting {
            return Err(self.pass.limit(Limit::Nesting));
        }
        self.parent = Some(self.needed_source(name)?);
        self.captures.push(String::new());
        Ok(())
    }

    fn include(&mut self, name: &Expr, ignore: bool, context: bool) -> Result<(), Stop> {
        let value = self.eval(name)?;
        let index = match self.find_source(&value)? {
            Some(index) => index,
            None if ignore => return Ok(()),
            None => self.needed_source(name)?,
        };
        let scope = match context {
            true => self.names.open(),
            false => {
                let base = self.new_base(false)?;
                self.names.open_apart(base, index)
            }
        };
        let entered = self.pass.entered();
        self.pass.enter(name.span.start);
        self.apart(index)?;
        self.pass.leave(entered);
        self.names.close(&scope);
        Ok(())
    }

    /// Evaluates another source with blocks of its own.
    fn apart(&mut self, index: usize) -> Result<(), Stop> {
        let blocks = std::mem::take(&mut self.blocks);
        let parent = self.parent.take();
        self.template(|e| e.entry(index))?;
        self.blocks = blocks;
        self.parent = parent;
        Ok(())
    }

    fn new_base(&mut self, context: bool) -> Result<usize, Stop> {
        self.charge(size_of::<super::scope::Base>())?;
        Ok(self.names.new_base(context))
    }

    fn import(&mut self, name: &Expr, context: bool) -> Result<usize, Stop> {
        let index = self.needed_source(name)?;
        let base = self.new_base(context)?;
        let scope = self.names.open_apart(base, index);
        self.names.open_top();
        let entered = self.pass.entered();
        self.pass.enter(name.span.start);
        self.caught(|e| e.apart(index)).1?;
        self.pass.leave(entered);
        self.names.close(&scope);
        Ok(base)
    }

    fn import_names(
        &mut self,
        name: &Expr,
        names: &[(Arc<str>, Arc<str>)],
        context: bool,
    ) -> Result<(), Stop> {
        let base = self.import(name, context)?;
        for (from, to) in names {
            let value = self
                .names
                .module_name(base, from)
                .unwrap_or(Value::UNDEFINED);
            self.names.assign(to, value);
        }
        Ok(())
    }

    /// Evaluates the definition of a block at this place in its chain.
    pub(super) fn block(&mut self, name: &Arc<str>, at: usize) -> Result<(), Stop> {
        let found = self.blocks.get(name).and_then(|chain| chain.get(at));
        let Some((source, block)) = found.map(|(source, block)| (*source, Arc::clone(block)))
        else {
            return Err(fail(format!("there is no block {name:?} above this one")));
        };
        let scope = match block.scoped {
            true => self.names.open(),
            false => self.names.open_apart(self.names.base, source),
        };
        self.names.source = source;
        let above = Value::Super(Rc::new((Arc::clone(name), at + 1)));
        self.names.push("super".into(), above);
        self.template(|e| e.body(&block.body))?;
        self.names.close(&scope);
        Ok(())
    }

    // Statements.

    pub(super) fn body(&mut self, body: &[Statement]) -> Result<(), Stop> {
        self.flow(body).map(|_| ())
    }

    fn flow(&mut self, body: &[Statement]) -> Result<Flow, Stop> {
        let entered = self.pass.entered();
        for statement in body {
            self.step()
                .map_err(|stop| self.place(stop, statement.span))?;
            let holes = self.pass.holes();
            let flow = match self.statement(&statement.kind) {
                Err(Stop::Suspended) => {
                    self.pass.leave(entered);
                    self.skip(statement, holes)?
                }
                flow => flow.map_err(|stop| self.place(stop, statement.span))?,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &StatementKind) -> Result<Flow, Stop> {
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
            // The source that this one extends says where its blocks go.
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

    /// Evaluates for what calls do. Nothing looks at the value, so none is waited for.
    fn drop_value(&mut self, expr: &Expr) -> Result<(), Stop> {
        match &expr.kind {
            ExprKind::Call(callee, arguments) => self.call(callee, arguments).map(drop),
            _ => self.eval(expr).map(drop),
        }
    }

    fn print(&mut self, expr: &Expr) -> Result<(), Stop> {
        if let (true, ExprKind::Call(callee, arguments)) = (self.at_output(), &expr.kind) {
            // Nothing looks at the value, so a pending call leaves a hole.
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

    /// Prints texts from where they are, also several that are added together:
    /// nothing is built. False if there is more to do than that.
    fn print_seen(&mut self, expr: &Expr) -> Result<bool, Stop> {
        if !self.at_output() {
            return Ok(false);
        }
        let names = &self.names;
        let is_text = |expr: &Expr| names.see(expr).and_then(Seen::as_str).is_some();
        match &expr.kind {
            ExprKind::Math(first, rest) => {
                let added = |(operator, right): &(Operator, Expr)| {
                    *operator == Operator::Add && is_text(right)
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

    fn write_seen(&mut self, expr: &Expr) -> Result<bool, Stop> {
        match self.names.see(expr).and_then(Seen::as_str) {
            Some(text) => self.pass.write(text).map(|()| true),
            None => Ok(false),
        }
    }

    fn print_value(&mut self, value: &Value) -> Result<(), Stop> {
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
    ) -> Result<Flow, Stop> {
        for (condition, body) in branches {
            if self.condition(condition)? {
                return self.level(|e| e.flow(body));
            }
        }
        self.level(|e| e.flow(otherwise))
    }

    fn with(&mut self, bindings: &[(Target, Expr)], body: &[Statement]) -> Result<Flow, Stop> {
        let mut values = Vec::with_capacity(bindings.len());
        for (index, (_, value)) in bindings.iter().enumerate() {
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

    fn filtered_body(&mut self, filters: &[FilterCall], body: &[Statement]) -> Result<Value, Stop> {
        let scope = self.names.open();
        let value = self.captured(|e| e.level(|e| e.body(body)));
        self.names.close(&scope);
        let mut value = value?;
        for filter in filters {
            let filtered = self.filter(&value, filter);
            value = filtered.map_err(|stop| self.place(stop, filter.span))?;
        }
        Ok(value)
    }

    fn macro_value(&mut self, declared: &Arc<super::ast::Macro>) -> Result<Value, Stop> {
        let visible = self.names.visible();
        self.pass.charge(visible.len() * 2 * VALUE_SIZE)?;
        let value = Value::Macro(Rc::new(MacroValue {
            declared: Arc::clone(declared),
            base: self.names.base,
            source: self.names.source,
            captured: visible.to_vec(),
        }));
        self.check_depth(&value)?;
        Ok(value)
    }

    fn assign_target(&mut self, target: &Target, value: Value) -> Result<(), Stop> {
        match target {
            Target::Name(name) => self.names.assign(name, value),
            Target::Field(name, field) => {
                let owner = self.names.own(name);
                let Some(Value::Namespace(number)) = owner else {
                    return Err(fail("cannot assign attribute on non-namespace object"));
                };
                let number = *number;
                self.pass.charge(2 * VALUE_SIZE)?;
                if let Some(namespace) = self.namespaces.get_mut(number) {
                    namespace.insert(Arc::clone(field), value);
                }
            }
            Target::Tuple(targets) if value.stands_in() => {
                for target in targets {
                    self.assign_target(target, Value::nothing())?;
                }
            }
            Target::Tuple(targets) => {
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

    // Loops.

    fn for_tag(&mut self, node: &Arc<For>) -> Result<(), Stop> {
        let iterable = self.eval(&node.iterable)?;
        self.for_loop(node, &iterable, 0)
    }

    /// Runs a loop; `depth` counts recursive ones from 0.
    pub(super) fn for_loop(
        &mut self,
        node: &Arc<For>,
        iterable: &Value,
        depth: usize,
    ) -> Result<(), Stop> {
        let items = self.iterate(iterable);
        let mut items = items.map_err(|stop| self.place(stop, node.iterable.span))?;
        if let Some(condition) = &node.condition {
            items = self.matching(node, condition, &items)?;
        }
        if items.len() == 0 {
            return self.level(|e| e.body(&node.otherwise));
        }
        let scope = self.names.open();
        let state = self.loop_state(node, &items, depth);
        let (mut kept, mut lost) = (None, false);
        let entered = self.pass.entered();
        self.pass.enter(node.iterable.span.start);
        self.pass.enter(0);
        for index in 0..items.len() {
            self.step()?;
            self.pass.turn(index);
            if let Some(state) = &state {
                state.index.set(index);
            }
            let item = items.get(index).unwrap_or(Value::None);
            self.names
                .turn(&scope, kept.unwrap_or(usize::from(state.is_some())));
            self.assign_target(&node.target, item)?;
            // The names of the target stay, and get other values.
            kept.get_or_insert(self.names.since(&scope));
            match self.level(|e| e.flow(&node.body))? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                Flow::Lost => {
                    lost = true;
                    break;
                }
            }
        }
        self.pass.leave(entered);
        self.names.close(&scope);
        if let Some(state) = state {
            state.changed.replace(None);
        }
        match lost {
            true => self.lose(node),
            false => Ok(()),
        }
    }

    /// What `loop` is, where any source of the set names it.
    fn loop_state(&mut self, node: &Arc<For>, items: &List, depth: usize) -> Option<Rc<Loop>> {
        let name = self.compiled.loop_name.as_ref()?;
        let state = Rc::new(Loop {
            items: items.clone(),
            index: Cell::new(0),
            depth,
            repeats: node.recursive.then(|| Arc::clone(node)),
            changed: RefCell::new(None),
        });
        let value = Value::Loop(Rc::clone(&state));
        self.names.push(Arc::clone(name), value);
        Some(state)
    }

    fn matching(&mut self, node: &For, condition: &Expr, items: &List) -> Result<List, Stop> {
        let mut found = Vec::new();
        let scope = self.names.open();
        let (entered, mut hole) = (self.pass.entered(), false);
        self.pass.enter(condition.span.start);
        self.pass.enter(0);
        for (index, item) in items.iter().enumerate() {
            self.step()?;
            self.pass.turn(index);
            self.names.turn(&scope, 0);
            self.assign_target(&node.target, item.clone())?;
            match self.condition(condition) {
                Ok(true) => {
                    self.pass.charge(VALUE_SIZE)?;
                    found.push(item);
                }
                Ok(false) => {}
                // The conditions of the other items are evaluated whatever this one is.
                Err(Stop::Suspended) if !self.pass.is_stopped() => hole = true,
                Err(stop) => return Err(stop),
            }
        }
        self.pass.leave(entered);
        self.names.close(&scope);
        if hole {
            return Err(Stop::Suspended);
        }
        Ok(List::new(Sort::List, found))
    }
}
