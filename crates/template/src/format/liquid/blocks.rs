//! Evaluation of tags with bodies and of tags with state.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use quillet_core::{Span, Value as Data};

use super::ast::{Body, CaseTag, Cycle, For, Group, If, Offset, TableRow};
use super::eval::{Evaluator, fail};
use super::items::LoopItems;
use super::number::leading;
use super::scope::Interrupt;
use super::value::{ForLoop, TableRowLoop, Value};
use crate::StopReason;

impl<'t> Evaluator<'t, '_> {
    pub(super) fn if_tag(&mut self, node: &'t If) -> Result<(), StopReason> {
        for (index, (condition, body)) in node.branches.iter().enumerate() {
            let holds = match condition {
                Some(condition) => self.condition(condition)? != (node.unless && index == 0),
                None => true,
            };
            if holds {
                return self.body(body);
            }
        }
        Ok(())
    }

    /// Evaluates `case`. Every matching branch is printed, and `else` only if no branch before it
    /// matched.
    pub(super) fn case(&mut self, node: &'t CaseTag) -> Result<(), StopReason> {
        let left = self.optional(&node.left)?;
        let mut none = true;
        for (term, body) in &node.arms {
            let wanted = match term {
                Some(term) => self.matches(&left, term)?,
                None => none,
            };
            if !wanted {
                continue;
            }
            if term.is_some() {
                none = false;
            }
            if let Some(body) = node.bodies.get(*body) {
                self.body(body)?;
            }
        }
        Ok(())
    }

    pub(super) fn for_tag(&mut self, node: &'t For, span: Span) -> Result<(), StopReason> {
        let from = match &node.offset {
            Offset::Start => 0,
            Offset::At(expr) => self.whole_or(expr, 0)?,
            Offset::Continue if self.world.lost.ends => return Err(StopReason::Suspended),
            Offset::Continue => self.world.ended.get(&node.name).copied().unwrap_or(0),
        };
        let items = self.eval(&node.items)?;
        let to = match &node.limit {
            Some(expr) => {
                let limit = self.eval(expr)?;
                if limit.meant().is_nil() {
                    None
                } else {
                    Some(from.saturating_add(self.whole(&limit)?))
                }
            }
            None => None,
        };
        let segment = LoopItems::of(&items).segment(from, to, node.reversed);
        if self.compiled.continues_loops {
            let length = i64::try_from(segment.length).unwrap_or(i64::MAX);
            let end = from.saturating_add(length);
            self.world.ended.insert(Arc::clone(&node.name), end);
        }
        if segment.length == 0 {
            return match &node.otherwise {
                Some(body) => self.body(body),
                None => Ok(()),
            };
        }
        let scope = self.world.open();
        let state = self.compiled.asks_loops.then(|| {
            let state = Rc::new(ForLoop {
                name: Arc::clone(&node.name),
                length: segment.length,
                index: Cell::new(0),
                parent: self.world.loops.last().map(Rc::clone),
            });
            self.world.loops.push(Rc::clone(&state));
            let value = Value::Loop(Rc::clone(&state));
            self.world.set_local(scope, &"forloop".into(), value);
            state
        });
        let entered = self.pass.entered();
        self.pass.enter(span.start);
        self.pass.enter(0);
        let mut lost = false;
        for turn in 0..segment.length {
            self.pass.step()?;
            self.pass.turn(turn);
            if let Some(state) = &state {
                state.index.set(turn);
            }
            self.world
                .set_local(scope, &node.variable, segment.get(turn));
            self.body(&node.body)?;
            match self.world.interrupts.pop() {
                Some(Interrupt::Break) => break,
                Some(Interrupt::Lost) => {
                    lost = true;
                    break;
                }
                Some(Interrupt::Continue) | None => {}
            }
        }
        self.pass.leave(entered);
        self.world.close(scope);
        if state.is_some() {
            self.world.loops.pop();
        }
        if lost {
            self.invalidate_loop(&node.body)
        } else {
            Ok(())
        }
    }

    /// Evaluates a whole number. A missing value gives the default.
    fn whole_or(&mut self, expr: &'t super::ast::Expr, default: i64) -> Result<i64, StopReason> {
        let value = self.eval(expr)?;
        if value.meant().is_nil() {
            Ok(default)
        } else {
            let whole = self.whole(&value);
            whole.map_err(|stop| self.place(stop, expr.span))
        }
    }

    /// Evaluates a number like Ruby's `to_i`.
    fn loose_whole(&mut self, expr: &'t super::ast::Expr) -> Result<i64, StopReason> {
        match self.eval(expr)?.meant() {
            Value::Data(Data::Null) => Ok(0),
            Value::Data(Data::Int(number)) => Ok(number),
            Value::Data(Data::Float(number)) => Ok(number as i64),
            Value::Data(Data::Str(text)) => leading(&text).map_err(|fault| self.fault(fault)),
            other => {
                let kind = other.kind();
                let stop = fail(format!("a {kind} is not a whole number"));
                Err(self.place(stop, expr.span))
            }
        }
    }

    pub(super) fn table_row(&mut self, node: &'t TableRow, span: Span) -> Result<(), StopReason> {
        let items = self.eval(&node.items)?;
        if !items.meant().is_true() {
            return Ok(());
        }
        let mut attribute = |expr: &'t Option<super::ast::Expr>| match expr {
            Some(expr) => self.loose_whole(expr).map(Some),
            None => Ok(None),
        };
        let from = attribute(&node.offset)?.unwrap_or(0);
        let limit = attribute(&node.limit)?;
        let columns = attribute(&node.columns)?.unwrap_or(0);
        let to = limit.map(|limit| from.saturating_add(limit));
        let segment = LoopItems::of(&items).segment(from, to, false);
        let state = Rc::new(TableRowLoop {
            length: segment.length,
            index: Cell::new(0),
            column: Cell::new(1),
            row: Cell::new(1),
            columns,
        });
        let scope = self.world.open();
        let value = Value::Rows(Rc::clone(&state));
        self.world.set_local(scope, &"tablerowloop".into(), value);
        let entered = self.pass.entered();
        self.pass.enter(span.start);
        self.pass.enter(0);
        self.pass.write("<tr class=\"row1\">\n")?;
        let mut lost = false;
        for turn in 0..segment.length {
            self.pass.step()?;
            self.pass.turn(turn);
            state.index.set(turn);
            self.world
                .set_local(scope, &node.variable, segment.get(turn));
            self.pass
                .write(&format!("<td class=\"col{}\">", state.column.get()))?;
            self.body(&node.body)?;
            self.pass.write("</td>")?;
            lost |= self.world.interrupts.contains(&Interrupt::Lost);
            if lost {
                break;
            }
            let ends_row = state.column.get() == columns;
            if ends_row && turn + 1 < segment.length {
                let next = state.row.get() + 1;
                self.pass
                    .write(&format!("</tr>\n<tr class=\"row{next}\">"))?;
            }
            if ends_row {
                state.column.set(1);
                state.row.set(state.row.get() + 1);
            } else {
                state.column.set(state.column.get() + 1)
            }
        }
        self.pass.write("</tr>\n")?;
        self.pass.leave(entered);
        self.world.close(scope);
        if lost {
            self.invalidate_loop(&node.body)
        } else {
            Ok(())
        }
    }

    pub(super) fn cycle(&mut self, node: &'t Cycle) -> Result<(), StopReason> {
        if self.world.lost.cycles {
            return Err(StopReason::Suspended);
        }
        let group = match &node.group {
            Group::Values(values) => Arc::clone(values),
            Group::Named(name) => {
                let name = self.eval(name)?;
                // The prefix separates names from the keys of unnamed cycles.
                let text = self.text(&self.unmarked(&name))?;
                format!("name {text}").into()
            }
        };
        let at = self.world.cycles.get(&group).copied().unwrap_or(0);
        if let Some(value) = node.values.get(at) {
            let value = self.eval(value)?;
            self.write(&value)?;
        }
        let next = if at + 1 >= node.values.len() {
            0
        } else {
            at + 1
        };
        self.world.cycles.insert(group, next);
        Ok(())
    }

    /// Prints a counter plus `before`, and then adds `step` to the counter.
    pub(super) fn count(
        &mut self,
        name: &Arc<str>,
        before: i64,
        step: i64,
    ) -> Result<(), StopReason> {
        let counter = self.world.counters.get(name).copied();
        let now = match counter {
            Some(Some(number)) => number,
            Some(None) => return Err(StopReason::Suspended),
            // The counter starts at the value of the variable with the same name.
            None => match self.world.variable(name).map(Data::represented_value) {
                None | Some(Data::Null | Data::Bool(false)) => 0,
                Some(Data::Int(number)) => *number,
                Some(other) => {
                    let kind = other.kind();
                    return Err(fail(format!("{name} is of type {kind} and cannot count")));
                }
            },
        };
        let overflow = || fail(format!("{name} does not fit into 64 bits"));
        let shown = now.checked_add(before).ok_or_else(overflow)?;
        let next = now.checked_add(step).ok_or_else(overflow)?;
        self.world.counters.insert(Arc::clone(name), Some(next));
        self.pass.write_int(shown)
    }

    pub(super) fn if_changed(&mut self, body: &'t Body) -> Result<(), StopReason> {
        let text = self.captured(|e| e.body(body))?;
        if self.world.lost.changed {
            return Err(StopReason::Suspended);
        }
        if self.world.changed.as_deref() == Some(text.as_str()) {
            return Ok(());
        }
        let text: Arc<str> = text.into();
        self.world.changed = Some(Arc::clone(&text));
        self.pass.write(&text)
    }
}
