//! Evaluation of partials: other sources by name, inline partials, and blocks that are passed to a
//! partial.

use quillet_core::{Map, Value, nearest};

use super::scope::{ContextStack, Inlines, PartialBlock, Scope, ScopedValue, same};
use super::{Evaluator, fail};
use crate::format::handlebars::ast::{BlockBody, Node, Partial, PartialName};
use crate::format::javascript;
use crate::{ErrorKind, LimitKind, RenderError, StopReason};

/// Target of a partial's name.
enum PartialTarget<'s> {
    Source(usize),
    Inline(&'s BlockBody, &'s Inlines<'s>),
    Block(&'s PartialBlock<'s>),
}

/// Approximate size of an object entry in bytes.
const ENTRY_BYTES: usize = 64;

impl<'e> Evaluator<'e, '_> {
    /// Renders a body that defines inline partials, which are in scope from its start.
    pub(super) fn with_inlines(
        &mut self,
        body: &BlockBody,
        scope: &Scope<'_>,
        outer: Option<&ContextStack<'_>>,
    ) -> Result<(), StopReason> {
        let inlines = self.inlines(body, scope, outer)?;
        let scope = Scope {
            inlines: Some(&inlines),
            ..*scope
        };
        self.nodes(&body.nodes, &scope)
    }

    fn inlines<'s>(
        &mut self,
        body: &'s BlockBody,
        scope: &Scope<'s>,
        outer: Option<&'s ContextStack<'s>>,
    ) -> Result<Inlines<'s>, StopReason> {
        let mut partials = Vec::new();
        for node in &body.nodes {
            let Node::Inline(inline) = node else { continue };
            let name = self.value(&inline.name, scope)?;
            let name = self.name_text(&name)?;
            partials.push((name, &inline.body));
        }
        Ok(Inlines {
            partials,
            source: scope.source,
            contexts: outer,
            params: scope.params,
            parent: scope.inlines,
        })
    }

    fn name_text(&mut self, name: &ScopedValue<'_>) -> Result<String, StopReason> {
        match name.get() {
            Some(name) => Ok(javascript::text(self.pass, name)?.into_owned()),
            None => Ok("undefined".to_owned()),
        }
    }

    pub(super) fn partial(
        &mut self,
        partial: &Partial,
        scope: &Scope<'_>,
    ) -> Result<(), StopReason> {
        let target = self.target(partial, scope)?;
        let context = match &partial.context {
            Some(expr) => self.value(expr, scope)?,
            None => scope.context.value.into(),
        };
        let context = if partial.named.is_empty() {
            context
        } else {
            ScopedValue::Made(self.merged(&context, partial, scope)?)
        };
        self.partials += 1;
        if self.partials > self.pass.limits().nesting {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        let start = self.pass.out().len();
        let entered = self.pass.entered();
        self.pass.enter(partial.span.start);
        let done = match &partial.body {
            Some(body) => self.partial_block(target.as_ref(), body, context.get(), scope),
            None => self.invoke(target.as_ref(), context.get(), scope),
        };
        self.pass.leave(entered);
        self.partials -= 1;
        done?;
        match partial.indent {
            Some((from, to)) => {
                let source = self.compiled.sources.get(scope.source);
                let indent = source.and_then(|source| source.text.get(from..to));
                self.pass.indent(start, indent.unwrap_or_default())
            }
            None => Ok(()),
        }
    }

    /// Calls a partial with a block. The inline partials of the block are passed too.
    fn partial_block(
        &mut self,
        target: Option<&PartialTarget<'_>>,
        body: &BlockBody,
        context: Option<&Value>,
        scope: &Scope<'_>,
    ) -> Result<(), StopReason> {
        let block = PartialBlock { body, scope };
        let given = Scope {
            block: Some(&block),
            ..*scope
        };
        let Some(target) = target else {
            return self.block_body(&block, context, &given);
        };
        if !body.inlines {
            return self.invoke(Some(target), context, &given);
        }
        let inlines = self.inlines(body, scope, Some(scope.context))?;
        let given = Scope {
            inlines: Some(&inlines),
            ..given
        };
        self.invoke(Some(target), context, &given)
    }

    fn invoke(
        &mut self,
        target: Option<&PartialTarget<'_>>,
        context: Option<&Value>,
        scope: &Scope<'_>,
    ) -> Result<(), StopReason> {
        match target {
            Some(PartialTarget::Source(source)) => {
                let context = ContextStack {
                    value: context,
                    parent: None,
                };
                let inner = Scope {
                    source: *source,
                    context: &context,
                    params: None,
                    ..*scope
                };
                self.source(&inner)
            }
            Some(PartialTarget::Inline(body, inlines)) => {
                let context = joined(context, inlines.contexts);
                let inner = Scope {
                    source: inlines.source,
                    context: &context,
                    params: inlines.params,
                    ..*scope
                };
                self.body(body, &inner, inlines.contexts)
            }
            Some(PartialTarget::Block(block)) => self.block_body(block, context, scope),
            None => Err(fail("the partial could not be found")),
        }
    }

    /// Renders the block that was passed to a partial, in the scope of the partial's call.
    fn block_body(
        &mut self,
        block: &PartialBlock<'_>,
        context: Option<&Value>,
        scope: &Scope<'_>,
    ) -> Result<(), StopReason> {
        let at = block.scope;
        let contexts = Some(at.context);
        let context = joined(context, contexts);
        let inner = Scope {
            context: &context,
            frame: scope.frame,
            ..*at
        };
        self.body(block.body, &inner, contexts)
    }

    /// Resolves a partial's name. Returns `None` if the partial does not exist but its tag has a
    /// block to render instead.
    fn target<'s>(
        &mut self,
        partial: &'s Partial,
        scope: &Scope<'s>,
    ) -> Result<Option<PartialTarget<'s>>, StopReason> {
        let (name, source) = match &partial.name {
            PartialName::Fixed(name, source) => (name.to_string(), *source),
            PartialName::Block => match scope.block {
                Some(block) => return Ok(Some(PartialTarget::Block(block))),
                None => ("@partial-block".to_owned(), None),
            },
            PartialName::Dynamic(expr) => {
                let name = self.value(expr, scope)?;
                let name = self.name_text(&name)?;
                let source = self.compiled.index(&name);
                (name, source)
            }
        };
        if let Some(inline) = self.inline(&name, scope)? {
            return Ok(Some(inline));
        }
        match source {
            Some(source) => Ok(Some(PartialTarget::Source(source))),
            None if partial.body.is_some() => Ok(None),
            None => Err(self.no_partial(&name)),
        }
    }

    fn inline<'s>(
        &mut self,
        name: &str,
        scope: &Scope<'s>,
    ) -> Result<Option<PartialTarget<'s>>, StopReason> {
        let mut inlines = scope.inlines;
        while let Some(inner) = inlines {
            self.pass.steps(inner.partials.len() + 1)?;
            // The later of two inline partials with the same name wins.
            let mut partials = inner.partials.iter().rev();
            if let Some((_, body)) = partials.find(|(known, _)| known == name) {
                return Ok(Some(PartialTarget::Inline(body, inner)));
            }
            inlines = inner.parent;
        }
        Ok(None)
    }

    #[cold]
    fn no_partial(&self, name: &str) -> StopReason {
        let reason = format!("The partial {name} could not be found");
        let mut error = RenderError::new(ErrorKind::Execution, reason);
        let names = self.compiled.sources.iter().map(|source| &*source.name);
        error.help = nearest(name, names).map(|near| format!("did you mean {near}?"));
        error.into()
    }

    /// Returns the context of a partial, with the named arguments added.
    fn merged(
        &mut self,
        context: &ScopedValue<'_>,
        partial: &Partial,
        scope: &Scope<'_>,
    ) -> Result<Value, StopReason> {
        let mut table = match context.get() {
            Some(Value::Map(map)) => {
                self.pass.steps(map.len())?;
                self.pass.charge(map.len().saturating_mul(ENTRY_BYTES))?;
                map.to_table()
            }
            _ => quillet_core::value::MapTable::default(),
        };
        for (name, expr) in &partial.named {
            let value = self.value(expr, scope)?;
            table.insert(name.clone(), value.get().cloned().unwrap_or_default());
        }
        let merged = Value::Map(Map::new(table));
        if merged.depth() > quillet_core::value::MAX_DEPTH {
            Err(self.pass.limit(LimitKind::ValueDepth))
        } else {
            Ok(merged)
        }
    }
}

/// Pushes a context, unless it equals the innermost one.
fn joined<'s>(
    value: Option<&'s Value>,
    contexts: Option<&'s ContextStack<'s>>,
) -> ContextStack<'s> {
    let parent = match contexts {
        Some(inner) if same(value, inner.value) => inner.parent,
        contexts => contexts,
    };
    ContextStack { value, parent }
}
