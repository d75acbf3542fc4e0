//! Evaluation of `range` loops.

use std::ops::Range;
use std::sync::Arc;

use quillet_core::Value;

use crate::pass::StopReason;

use super::super::ast::{AssignTarget, OpIndex, Pipe, SlotIndex};
use super::super::collection::GoList;
use super::super::types::GoType;
use super::super::value::{GoNumber, GoStr, GoValue};
use super::Executor;
use super::item::DotValue;

/// A running loop.
pub(super) struct LoopState<'a> {
    items: RangeItems<'a>,
    /// Number of iterations that have begun.
    turns: usize,
    pipe: &'a Pipe,
    body: OpIndex,
    end: OpIndex,
    /// Slots of the variables declared in the body, which each iteration unsets.
    inside: Range<SlotIndex>,
    /// Number of saved dots when the loop began, without the loop's own.
    dots: usize,
}

/// The value that a loop iterates over.
enum RangeItems<'a> {
    Values(&'a [Value]),
    List(GoList),
    Entries(Vec<(&'a Arc<str>, &'a Value)>),
    Built(Vec<(GoStr, GoValue)>, GoType),
    /// A number of iterations. The second field determines the integer type of the counter.
    Count(i64, GoValue),
}

impl LoopState<'_> {
    /// Returns the loop's location in the template and the current iteration.
    pub(super) fn location(&self) -> (OpIndex, usize) {
        (self.body, self.turns)
    }

    /// Returns the operations of the body and of the `else` branch.
    pub(super) fn ops(&self) -> Range<OpIndex> {
        self.body..self.end
    }
}

impl<'a> RangeItems<'a> {
    fn len(&self) -> usize {
        match self {
            RangeItems::Values(values) => values.len(),
            RangeItems::List(list) => list.len(),
            RangeItems::Entries(entries) => entries.len(),
            RangeItems::Built(entries, _) => entries.len(),
            RangeItems::Count(count, _) => usize::try_from(*count).unwrap_or(0),
        }
    }

    /// Returns the key and element of an iteration.
    fn get(&self, turn: usize) -> Option<(DotValue<'a>, DotValue<'a>)> {
        let index = || DotValue::own(GoValue::Int(turn as i64));
        match self {
            RangeItems::Values(values) => Some((index(), DotValue::element(values.get(turn)?))),
            RangeItems::List(list) => {
                let element = DotValue::own_element(list.get(turn)?, list.element());
                Some((index(), element))
            }
            RangeItems::Entries(entries) => {
                let (key, value) = *entries.get(turn)?;
                let key = GoValue::Str(GoStr::Text(key.clone()));
                Some((DotValue::own(key), DotValue::element(value)))
            }
            RangeItems::Built(entries, element) => {
                let (key, value) = entries.get(turn)?;
                let key = DotValue::own(GoValue::Str(key.clone()));
                Some((key, DotValue::own_element(value.clone(), *element)))
            }
            RangeItems::Count(count, like) => {
                if turn as i64 >= *count {
                    return None;
                }
                Some((
                    DotValue::Missing,
                    DotValue::own(number_like(like, turn as i64)),
                ))
            }
        }
    }
}

/// Converts an integer to the type of another one.
fn number_like(like: &GoValue, value: i64) -> GoValue {
    match like {
        GoValue::Int32(_) => GoValue::Int32(value as i32),
        // Go converts the counter to the type of the integer, which wraps.
        GoValue::Int64(_) => GoValue::Int64(value),
        GoValue::Uint8(_) => GoValue::Uint8(value as u8),
        GoValue::Uint64(_) => GoValue::Uint64(value as u64),
        _ => GoValue::Int(value),
    }
}

impl<'a> Executor<'a, '_, '_> {
    pub(super) fn begin_range(
        &mut self,
        pipe: &'a Pipe,
        otherwise: OpIndex,
        end: OpIndex,
        inside: &Range<SlotIndex>,
    ) -> Result<(), StopReason> {
        let holes = self.pass.holes();
        let value = self.pipeline(pipe)?;
        if matches!(value, DotValue::Pending) {
            return self.skip_range(otherwise, end, holes);
        }
        let items = self.items(value, pipe)?;
        // As in Go, a missing value and an empty list both run the `else` branch.
        let Some(items) = items.filter(|items| items.len() > 0) else {
            self.place = otherwise;
            return Ok(());
        };
        let body = self.place;
        // This dot is saved below the dots of the loop body, so that `break` restores it.
        self.dots.push(self.dot.clone());
        self.loops.push(LoopState {
            items,
            turns: 0,
            pipe,
            body,
            end,
            inside: inside.clone(),
            dots: self.dots.len() - 1,
        });
        self.next_turn()
    }

    /// Returns the items of a loop, or `None` for a value without items, such as a missing value.
    fn items(
        &mut self,
        value: DotValue<'a>,
        pipe: &'a Pipe,
    ) -> Result<Option<RangeItems<'a>>, StopReason> {
        Ok(Some(match value {
            DotValue::Missing | DotValue::Nil | DotValue::Pending => return Ok(None),
            DotValue::Core(Value::List(list), _) => RangeItems::Values(list.as_slice()),
            DotValue::Core(Value::Map(map), _) => {
                // Sorting is charged here, because the steps of the loop body do not include it.
                self.pass.steps(map.len())?;
                let mut entries: Vec<_> = map.iter().collect();
                // Go iterates over maps in key order.
                entries.sort_unstable_by_key(|(key, _)| *key);
                RangeItems::Entries(entries)
            }
            DotValue::Own(GoValue::List(list), _) => RangeItems::List(list),
            DotValue::Own(value, _) if value.is_fallback() => match value.meant() {
                GoValue::List(list) => RangeItems::List(list),
                GoValue::Map(map) => RangeItems::Built(map.sorted(), map.element()),
                _ => return Ok(None),
            },
            DotValue::Own(GoValue::Map(map), _) => {
                self.pass.steps(map.len())?;
                RangeItems::Built(map.sorted(), map.element())
            }
            other => return self.count(&other.into_value(), pipe).map(Some),
        }))
    }

    fn count(&mut self, value: &GoValue, pipe: &'a Pipe) -> Result<RangeItems<'a>, StopReason> {
        let count = match value.number() {
            Some(GoNumber::Int(count)) => count,
            // A larger count would exceed the step limit anyway.
            Some(GoNumber::Uint(count)) => i64::try_from(count).unwrap_or(i64::MAX),
            _ => {
                let text = super::formatted(b"%v", std::slice::from_ref(value));
                return Err(self.fail(format!("range can't iterate over {text}")));
            }
        };
        // Go allows at most one variable for a range over an integer.
        if pipe.variables.len() > 1 {
            let reason = format!("can't use {count} to iterate over more than one variable");
            return Err(self.fail(reason));
        }
        Ok(RangeItems::Count(count, value.clone()))
    }

    /// Begins the next iteration of the innermost loop, or ends it.
    pub(super) fn next_turn(&mut self) -> Result<(), StopReason> {
        let Some(innermost) = self.loops.last_mut() else {
            return Ok(());
        };
        let Some((key, element)) = innermost.items.get(innermost.turns) else {
            self.end_loop();
            return Ok(());
        };
        innermost.turns += 1;
        self.place = innermost.body;
        let (pipe, dots, inside) = (innermost.pipe, innermost.dots, innermost.inside.clone());
        // A `with` that `continue` has left may have pushed dots, which are dropped here.
        self.dots.truncate(dots + 1);
        // Variables declared in the body must be unset in the next iteration.
        for slot in &mut self.slots[self.base + inside.start..self.base + inside.end] {
            *slot = None;
        }
        match pipe.variables.as_slice() {
            [] => {}
            [only] => self.set_in_turn(pipe, only, element.clone())?,
            [first, second, ..] => {
                self.set_in_turn(pipe, first, key)?;
                self.set_in_turn(pipe, second, element.clone())?;
            }
        }
        self.dot = element;
        Ok(())
    }

    fn set_in_turn(
        &mut self,
        pipe: &'a Pipe,
        target: &AssignTarget,
        item: DotValue<'a>,
    ) -> Result<(), StopReason> {
        if pipe.assign {
            return self.assign(target, item);
        }
        if let Some(slot) = target.slot {
            self.slots[self.base + slot] = Some(item);
        }
        Ok(())
    }

    pub(super) fn end_loop(&mut self) {
        let Some(ended) = self.loops.pop() else {
            return;
        };
        self.dots.truncate(ended.dots + 1);
        self.restore_dot();
        self.place = ended.end;
    }
}
