//! Evaluation of loops: their iterations, the variable `loop`, and the condition on their items.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::ast::{Expr, For};
use super::eval::{Evaluator, Flow, VALUE_SIZE};
use super::value::{List, LoopState, Sort, Value};
use crate::StopReason;

impl Evaluator<'_, '_> {
    pub(super) fn for_tag(&mut self, node: &Arc<For>) -> Result<(), StopReason> {
        let iterable = self.eval(&node.iterable)?;
        self.for_loop(node, &iterable, 0)
    }

    /// Runs a loop. `depth` is the recursion depth of the loop, starting at 0.
    pub(super) fn for_loop(
        &mut self,
        node: &Arc<For>,
        iterable: &Value,
        depth: usize,
    ) -> Result<(), StopReason> {
        let items = self.iterate(iterable);
        let mut items = items.map_err(|stop| self.place(stop, node.iterable.span))?;
        if let Some(condition) = &node.condition {
            // The condition is evaluated for all items first, because `loop.length` counts only
            // matching items.
            items = self.matching(node, condition, &items)?;
        }
        if items.len() == 0 {
            return self.level(|e| e.body(&node.otherwise));
        }
        // The scope is opened after the condition, which cannot access `loop`.
        let scope = self.names.open();
        let state = self.loop_state(node, &items, depth);
        let (mut kept, mut lost) = (None, false);
        let entered = self.pass.entered();
        // The location of the loop distinguishes its calls from those of other loops in the
        // template.
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
            // The names of the target stay in scope and get new values in each iteration.
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
        // A macro may keep the state after the loop, but `changed` must not keep values alive.
        if let Some(state) = state {
            state.changed.replace(None);
        }
        // The scope must be closed first, because the placeholders are for names outside the loop.
        if lost {
            self.invalidate_loop(node)
        } else {
            Ok(())
        }
    }

    /// Sets `loop`, if any source of the set uses the variable.
    fn loop_state(&mut self, node: &Arc<For>, items: &List, depth: usize) -> Option<Rc<LoopState>> {
        let name = self.compiled.loop_name.as_ref()?;
        let state = Rc::new(LoopState {
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

    fn matching(&mut self, node: &For, condition: &Expr, items: &List) -> Result<List, StopReason> {
        let mut found = Vec::new();
        let scope = self.names.open();
        let (entered, mut hole) = (self.pass.entered(), false);
        self.pass.enter(condition.span.start);
        self.pass.enter(0);
        for (index, item) in items.iter().enumerate() {
            self.step()?;
            self.pass.turn(index);
            // The names of the previous item are removed before the next item is bound.
            self.names.turn(&scope, 0);
            self.assign_target(&node.target, item.clone())?;
            match self.condition(condition) {
                Ok(true) => {
                    self.pass.charge(VALUE_SIZE)?;
                    found.push(item);
                }
                Ok(false) => {}
                // The conditions of the other items are evaluated in any case.
                Err(StopReason::Suspended) if !self.pass.is_stopped() => hole = true,
                Err(stop) => return Err(stop),
            }
        }
        self.pass.leave(entered);
        self.names.close(&scope);
        // If it is unknown whether an item matches, the length of the loop is also unknown.
        if hole {
            return Err(StopReason::Suspended);
        }
        Ok(List::new(Sort::List, found))
    }
}
