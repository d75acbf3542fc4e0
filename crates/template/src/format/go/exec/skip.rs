//! Skips blocks that depend on a pending call.
//!
//! Values computed from a placeholder are placeholders too ([`DotValue::Pending`]), so actions need
//! no special treatment. A block whose condition or list is a placeholder is skipped. A scan of its
//! operations finds the variables that it might have set.

use std::ops::Range;

use crate::pass::StopReason;

use super::super::ast::{FunctionBinding, FunctionNode, Node, NodeKind, Op, OpIndex, Pipe};
use super::super::function::Effect;
use super::Executor;
use super::item::DotValue;

impl Executor<'_, '_, '_> {
    /// Skips an `if` or a `with`. The next operation is the first of its body, and `holes` is the
    /// number of placeholders at its start.
    #[cold]
    pub(super) fn skip_branches(
        &mut self,
        otherwise: OpIndex,
        holes: usize,
    ) -> Result<(), StopReason> {
        let last = otherwise.checked_sub(1);
        // The last operation before `else` jumps over the branch, so its target is the end of the
        // block.
        let end = match last.and_then(|last| self.definition.ops.get(last)) {
            Some(Op::Jump(end) | Op::EndWith { next: end }) => *end,
            _ => otherwise,
        };
        self.skip(self.place..end, self.place, holes)
    }

    /// Skips a loop.
    #[cold]
    pub(super) fn skip_range(
        &mut self,
        otherwise: OpIndex,
        end: OpIndex,
        holes: usize,
    ) -> Result<(), StopReason> {
        self.skip(self.place..end, otherwise, holes)
    }

    /// Skips operations. A `break` before `inside` belongs to a skipped loop. A later one leaves
    /// the enclosing loop.
    fn skip(
        &mut self,
        ops: Range<OpIndex>,
        inside: OpIndex,
        holes: usize,
    ) -> Result<(), StopReason> {
        self.pass.skip_since(holes);
        self.place = ops.end;
        if !self.invalidate_assigned(ops, inside)? {
            return Ok(());
        }
        // One of the skipped operations might have left the loop.
        let Some(ops) = self.loops.last().map(super::range::LoopState::ops) else {
            // Outside a loop there is nothing to leave, so the effect of the jump is unknown.
            return Err(self.pass.stop());
        };
        let end = ops.end;
        // If the rest of the loop can also leave an outer loop, the pass must end.
        if self.invalidate_assigned(ops, end)? {
            return Err(self.pass.stop());
        }
        self.end_loop();
        Ok(())
    }

    /// Replaces every variable that the operations could set by a placeholder. Returns whether they
    /// could leave the enclosing loop.
    fn invalidate_assigned(
        &mut self,
        ops: Range<OpIndex>,
        mut inside: OpIndex,
    ) -> Result<bool, StopReason> {
        let definition = self.definition;
        let mut leaves = false;
        for at in ops.clone() {
            let Some(op) = definition.ops.get(at) else {
                break;
            };
            self.pass.step()?;
            // An operation with a lasting effect cannot be skipped.
            if lasts(op, self.compiled.has_effects()) {
                return Err(self.pass.stop());
            }
            match op {
                Op::Range { otherwise, .. } => inside = inside.max(*otherwise),
                Op::Break | Op::Next => leaves |= at >= inside,
                // A jump beyond the block leaves several loops or blocks. The effects of such a
                // jump are not tracked.
                Op::Jump(target) | Op::EndWith { next: target } if *target > ops.end => {
                    return Err(self.pass.stop());
                }
                _ => {}
            }
            let Some(pipe) = op.pipe().filter(|pipe| pipe.assign) else {
                // Declarations are local to the block; only assignments are visible after it.
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

/// Whether an operation has an effect on the following text besides the variables that it sets.
/// `templates` says whether called templates have such effects.
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

/// Whether a node has such an effect. The parser bounds the recursion through parentheses.
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
        // A late-bound function affects the evaluation only through its result.
        FunctionBinding::Builtin(_) | FunctionBinding::Late => false,
    }
}
