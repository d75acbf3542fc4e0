//! Leaving out blocks that hang on a pending call.
//!
//! Values that are made of a hole are holes themselves ([`DotValue::Pending`]), so
//! actions need nothing of this. A block whose condition or list is one is not
//! entered; what it might have done is looked up in its operations.

use std::ops::Range;

use crate::pass::StopReason;

use super::super::ast::{FunctionBinding, FunctionNode, Node, NodeKind, Op, OpIndex, Pipe};
use super::super::function::Effect;
use super::Executor;
use super::item::DotValue;

impl Executor<'_, '_, '_> {
    /// Goes on behind an `if` or a `with`, the first of whose operations is next.
    /// `holes` is how many there were when it began.
    #[cold]
    pub(super) fn skip_branches(
        &mut self,
        otherwise: OpIndex,
        holes: usize,
    ) -> Result<(), StopReason> {
        let last = otherwise.checked_sub(1);
        let end = match last.and_then(|last| self.definition.ops.get(last)) {
            Some(Op::Jump(end) | Op::EndWith { next: end }) => *end,
            _ => otherwise,
        };
        self.skip(self.place..end, self.place, holes)
    }

    /// The same for a loop.
    #[cold]
    pub(super) fn skip_range(
        &mut self,
        otherwise: OpIndex,
        end: OpIndex,
        holes: usize,
    ) -> Result<(), StopReason> {
        self.skip(self.place..end, otherwise, holes)
    }

    /// Leaves out operations. Up to `inside` a `break` stays in them.
    fn skip(
        &mut self,
        ops: Range<OpIndex>,
        inside: OpIndex,
        holes: usize,
    ) -> Result<(), StopReason> {
        self.pass.skip_since(holes);
        self.place = ops.end;
        if !self.forget(ops, inside)? {
            return Ok(());
        }
        // It might have been the last thing that the loop did.
        let Some(ops) = self.loops.last().map(super::range::LoopState::ops) else {
            return Err(self.pass.stop());
        };
        let end = ops.end;
        if self.forget(ops, end)? {
            return Err(self.pass.stop());
        }
        self.end_loop();
        Ok(())
    }

    /// Makes a hole of every variable that operations could set. Says whether they
    /// could leave the loop around them.
    fn forget(&mut self, ops: Range<OpIndex>, mut inside: OpIndex) -> Result<bool, StopReason> {
        let definition = self.definition;
        let mut leaves = false;
        for at in ops.clone() {
            let Some(op) = definition.ops.get(at) else {
                break;
            };
            self.pass.step()?;
            if lasts(op, self.compiled.has_effects()) {
                return Err(self.pass.stop());
            }
            match op {
                Op::Range { otherwise, .. } => inside = inside.max(*otherwise),
                Op::Break | Op::Next => leaves |= at >= inside,
                Op::Jump(target) | Op::EndWith { next: target } if *target > ops.end => {
                    return Err(self.pass.stop());
                }
                _ => {}
            }
            let Some(pipe) = op.pipe().filter(|pipe| pipe.assign) else {
                continue;
            };
            for target in &pipe.variables {
                if let Some(slot) = self.reached(target.slot)? {
                    self.slots[slot] = Some(DotValue::Pending);
                }
            }
        }
        Ok(leaves)
    }
}

/// Whether what follows depends on an operation besides the variables that it
/// sets; `templates` says whether it does on what other templates do.
pub(in super::super) fn lasts(op: &Op, templates: bool) -> bool {
    let calls = templates && matches!(op, Op::Call(_));
    calls || op.pipe().is_some_and(|pipe| pipe_lasts(pipe, templates))
}

fn pipe_lasts(pipe: &Pipe, templates: bool) -> bool {
    pipe.commands.iter().any(|command| {
        let mut nodes = std::iter::once(&command.first).chain(&command.arguments);
        nodes.any(|node| node_lasts(node, templates))
    })
}

/// Parentheses inside each other are bounded by the parser.
pub(super) fn node_lasts(node: &Node, templates: bool) -> bool {
    match &node.kind {
        NodeKind::Function(function) => function_lasts(function, templates),
        NodeKind::Pipe(pipe) => pipe_lasts(pipe, templates),
        NodeKind::Chain(chain) => node_lasts(&chain.base, templates),
        _ => false,
    }
}

fn function_lasts(function: &FunctionNode, templates: bool) -> bool {
    match &function.function {
        FunctionBinding::Native(native) => match native.effect {
            Effect::None => false,
            Effect::Lasts => true,
            Effect::Includes => templates,
        },
        FunctionBinding::Builtin(_) | FunctionBinding::Late => false,
    }
}
