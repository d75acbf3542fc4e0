//! Evaluation of sources that refer to others: `extends` and blocks, `include`, `import`.

use std::rc::Rc;
use std::sync::Arc;

use super::ast::Expr;
use super::eval::{Evaluator, fail};
use super::value::Value;
use crate::{LimitKind, StopReason};

impl Evaluator<'_, '_> {
    /// Evaluates a source, and then the source that it extends.
    pub(super) fn entry(&mut self, index: usize) -> Result<(), StopReason> {
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
            // Output of a child template outside its blocks is dropped.
            self.captures.truncate(outer);
            next = self.parent.take();
            self.pass.step()?;
        }
        Ok(())
    }

    fn find_source(&mut self, name: &Value) -> Result<Option<usize>, StopReason> {
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

    fn needed_source(&mut self, name: &Expr) -> Result<usize, StopReason> {
        let value = self.eval(name)?;
        if let Some(found) = self.find_source(&value)? {
            return Ok(found);
        }
        let text = self.repr(&value)?;
        let stop = fail(format!("template {text} does not exist"));
        Err(self.place(stop, name.span))
    }

    pub(super) fn extends(&mut self, name: &Expr) -> Result<(), StopReason> {
        if self.parent.is_some() {
            return Err(self.place(fail("extended multiple times"), name.span));
        }
        self.templates += 1;
        if self.templates > self.pass.limits().nesting {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        self.parent = Some(self.needed_source(name)?);
        self.captures.push(String::new());
        Ok(())
    }

    pub(super) fn include(
        &mut self,
        name: &Expr,
        ignore: bool,
        context: bool,
    ) -> Result<(), StopReason> {
        let value = self.eval(name)?;
        let index = match self.find_source(&value)? {
            Some(index) => index,
            None if ignore => return Ok(()),
            None => self.needed_source(name)?,
        };
        let scope = if context {
            self.names.open()
        } else {
            let base = self.new_base(false)?;
            self.names.open_apart(base, index)
        };
        let entered = self.pass.entered();
        self.pass.enter(name.span.start);
        self.apart(index)?;
        self.pass.leave(entered);
        self.names.close(&scope);
        Ok(())
    }

    /// Evaluates another source with a separate set of blocks.
    fn apart(&mut self, index: usize) -> Result<(), StopReason> {
        let blocks = std::mem::take(&mut self.blocks);
        let parent = self.parent.take();
        self.template(|e| e.entry(index))?;
        self.blocks = blocks;
        self.parent = parent;
        Ok(())
    }

    fn new_base(&mut self, context: bool) -> Result<usize, StopReason> {
        self.charge(size_of::<super::scope::BaseScope>())?;
        Ok(self.names.new_base(context))
    }

    pub(super) fn import(&mut self, name: &Expr, context: bool) -> Result<usize, StopReason> {
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

    pub(super) fn import_names(
        &mut self,
        name: &Expr,
        names: &[(Arc<str>, Arc<str>)],
        context: bool,
    ) -> Result<(), StopReason> {
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

    /// Evaluates one of the definitions of a block.
    pub(super) fn block(&mut self, name: &Arc<str>, at: usize) -> Result<(), StopReason> {
        let found = self.blocks.get(name).and_then(|chain| chain.get(at));
        let Some((source, block)) = found.map(|(source, block)| (*source, Arc::clone(block)))
        else {
            return Err(fail(format!("no parent block {name:?}")));
        };
        let scope = if block.scoped {
            self.names.open()
        } else {
            self.names.open_apart(self.names.base, source)
        };
        self.names.source = source;
        let above = Value::Super(Rc::new((Arc::clone(name), at + 1)));
        self.names.push("super".into(), above);
        self.template(|e| e.body(&block.body))?;
        self.names.close(&scope);
        Ok(())
    }
}
