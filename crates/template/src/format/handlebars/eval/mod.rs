//! Evaluator of compiled sources. Contexts, data and block parameters are linked frames on the
//! native stack, so a scope needs no allocation.

mod block;
mod call;
mod host;
mod partial;
mod path;
mod scope;
mod skip;

use std::cell::Cell;
use std::sync::Arc;

use quillet_core::{LineColumn, Span, Value, nearest};

pub(super) use scope::{ContextStack, Scope, ScopedValue};

use super::HandlebarsTemplate;
use super::ast::{BlockBody, CallExpr, CallKind, Node, Print, Root};
use crate::format::javascript;
use crate::format::python::float_text;
use crate::{ErrorKind, LimitKind, Pass, RenderError, StopReason};

/// Maximum depth of blocks, partials and calls. Each level needs a few hundred bytes of the 2 MiB
/// stack, and several kilobytes in a debug build.
const MAX_LEVELS: usize = 300;

pub(super) fn fail(reason: impl Into<String>) -> StopReason {
    RenderError::new(ErrorKind::Execution, reason).into()
}

pub(super) struct Evaluator<'e, 'p> {
    compiled: &'e HandlebarsTemplate,
    pass: &'e mut Pass<'p>,
    /// The variables as one object.
    root: &'e Value,
    /// Variables that helpers have set. The value is `None` if it depends on a pending call.
    assigned: Vec<(Arc<str>, Option<Value>)>,
    /// Whether a helper has read a variable whose value depends on a pending call.
    read_hole: Cell<bool>,
    levels: usize,
    /// Depth of partials.
    partials: usize,
}

impl<'e, 'p> Evaluator<'e, 'p> {
    pub(super) fn new(
        compiled: &'e HandlebarsTemplate,
        pass: &'e mut Pass<'p>,
        root: &'e Value,
    ) -> Self {
        Evaluator {
            compiled,
            pass,
            root,
            assigned: Vec::new(),
            read_hole: Cell::new(false),
            levels: 0,
            partials: 0,
        }
    }

    /// Renders a source from its start.
    pub(super) fn entry(&mut self, source: usize) -> Result<(), StopReason> {
        let context = ContextStack {
            value: Some(self.root),
            parent: None,
        };
        let scope = Scope::of_source(source, self.root, &context);
        self.source(&scope)
    }

    /// Renders the source of a scope.
    fn source(&mut self, scope: &Scope<'_>) -> Result<(), StopReason> {
        let compiled = self.compiled;
        match compiled.sources.get(scope.source) {
            Some(source) => self.body(&source.body, scope, None),
            None => Ok(()),
        }
    }

    /// Renders a body. `outer` are the contexts outside it, which its inline partials can access.
    fn body(
        &mut self,
        body: &BlockBody,
        scope: &Scope<'_>,
        outer: Option<&ContextStack<'_>>,
    ) -> Result<(), StopReason> {
        self.levels += 1;
        if self.levels > MAX_LEVELS {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        let done = if body.inlines {
            self.with_inlines(body, scope, outer)
        } else {
            self.nodes(&body.nodes, scope)
        };
        self.levels -= 1;
        done
    }

    fn nodes(&mut self, nodes: &[Node], scope: &Scope<'_>) -> Result<(), StopReason> {
        let entered = self.pass.entered();
        for node in nodes {
            self.pass.step()?;
            let holes = self.pass.holes();
            match self.node(node, scope) {
                Ok(()) => {}
                Err(StopReason::Suspended) => {
                    self.pass.leave(entered);
                    self.skip(node, holes)?;
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    #[inline]
    fn node(&mut self, node: &Node, scope: &Scope<'_>) -> Result<(), StopReason> {
        match node {
            Node::Text(text) => {
                let compiled = self.compiled;
                let source = compiled.sources.get(scope.source);
                let text = source.and_then(|source| source.text.get(text.start..text.end));
                self.pass.literal(text.unwrap_or_default())
            }
            Node::Marked(text) => self.pass.literal(text),
            Node::Print(print) => {
                let start = self.pass.begin_value();
                let printed = self.print(print, scope);
                printed.map_err(|stop| self.place(stop, print.call.path.span, scope))?;
                let name = || self.compiled.text(scope.source, print.call.path.span);
                self.pass.end_value(start, name)
            }
            Node::Block(block) => self.block(block, scope),
            Node::Partial(partial) => {
                let rendered = self.partial(partial, scope);
                rendered.map_err(|stop| self.place(stop, partial.span, scope))
            }
            Node::Inline(_) | Node::Comment(_) => Ok(()),
        }
    }

    fn print(&mut self, print: &Print, scope: &Scope<'_>) -> Result<(), StopReason> {
        if let Some(value) = self.plain(&print.call, scope) {
            return self.print_value(value, print.escaped);
        }
        let value = match self.printed(&print.call, scope)? {
            call::CallOutput::Value(value) => value,
            call::CallOutput::Safe(text) => return self.pass.write(&text),
            call::CallOutput::Nothing => return Ok(()),
        };
        match value.get() {
            Some(value) => self.print_value(value, print.escaped),
            None => Ok(()),
        }
    }

    /// Fast path for the most common tag: a name that is in the context and is not a function.
    #[inline]
    fn plain<'s>(&self, call: &CallExpr, scope: &Scope<'s>) -> Option<&'s Value> {
        let [name] = call.path.parts.as_slice() else {
            return None;
        };
        let of_context = matches!(call.path.root, Root::Context(0)) && self.assigned.is_empty();
        let of_function = match call.kind {
            CallKind::Variable => false,
            CallKind::Ambiguous => !self.compiled.variables_first && self.pass.has_function(name),
            _ => true,
        };
        if of_function || !of_context {
            return None;
        }
        scope.context.value?.as_map()?.get(name)
    }

    fn print_value(&mut self, value: &Value, escaped: bool) -> Result<(), StopReason> {
        match value {
            Value::Float(number) if self.compiled.python => self.pass.write(&float_text(*number)),
            value => {
                let escape = self.compiled.escape.filter(|_| escaped);
                javascript::write(self.pass, value, escape)
            }
        }
    }

    /// Adds the location to an error without one.
    #[cold]
    fn place(&self, stop: StopReason, span: Span, scope: &Scope<'_>) -> StopReason {
        let StopReason::Failed(mut error) = stop else {
            return stop;
        };
        if error.span.is_none() {
            let source = self.compiled.sources.get(scope.source);
            let (name, text) = source.map_or(("", ""), |source| (&source.name, &source.text));
            let at = LineColumn::of(text, span.start);
            error.message = format!("{name}:{}:{}: {}", at.line, at.column, error.reason);
            error.source_name = name.to_owned();
            error.span = Some(span);
            error.position = Some(at);
        }
        StopReason::Failed(error)
    }

    /// Creates the error for a missing variable in a strict template.
    #[cold]
    fn missing(&self, path: &super::ast::Path) -> StopReason {
        let name = path.parts.join(".");
        let mut error = RenderError::new(
            ErrorKind::MissingVariable,
            format!("variable {name} is not defined"),
        );
        let names = self.pass.variables().iter().map(|(name, _)| &**name);
        error.help = nearest(&name, names).map(|near| format!("did you mean {near}?"));
        error.into()
    }
}
