//! Loops.

use std::ops::Range;
use std::sync::Arc;

use quillet_core::Value;

use crate::pass::Stop;

use super::super::ast::{Pipe, Place, Slot, Target};
use super::super::collection::GoList;
use super::super::types::GoType;
use super::super::value::{GoStr, GoValue, Number};
use super::Executor;
use super::item::Item;

/// A loop that is being run.
pub(super) struct Loop<'a> {
    items: Items<'a>,
    /// Turns that have begun.
    turns: usize,
    pipe: &'a Pipe,
    body: Place,
    end: Place,
    /// Variables declared inside, unset in each turn.
    inside: Range<Slot>,
    /// How many dots there were when the loop began, its own not counted.
    dots: usize,
}

/// What a loop goes over.
enum Items<'a> {
    Values(&'a [Value]),
    List(GoList),
    Entries(Vec<(&'a Arc<str>, &'a Value)>),
    Built(Vec<(GoStr, GoValue)>, GoType),
    /// So many turns, over numbers like this one.
    Count(i64, GoValue),
}

impl Loop<'_> {
    /// Its place in the template, and the turn that it is in.
    pub(super) fn at(&self) -> (Place, usize) {
        (self.body, self.turns)
    }

    /// The operations of its body, and of what stands after `else`.
    pub(super) fn ops(&self) -> Range<Place> {
        self.body..self.end
    }
}

impl<'a> Items<'a> {
    fn len(&self) -> usize {
        match self {
            Items::Values(values) => values.len(),
            Items::List(list) => list.len(),
            Items::Entries(entries) => entries.len(),
            Items::Built(entries, _) => entries.len(),
            Items::Count(count, _) => usize::try_from(*count).unwrap_or(0),
        }
    }

    /// Key and element of a turn.
    fn get(&self, turn: usize) -> Option<(Item<'a>, Item<'a>)> {
        let index = || Item::own(GoValue::Int(turn as i64));
        match self {
            Items::Values(values) => Some((index(), Item::element(values.get(turn)?))),
            Items::List(list) => {
                let element = Item::own_element(list.get(turn)?, list.element());
                Some((index(), element))
            }
            Items::Entries(entries) => {
                let (key, value) = *entries.get(turn)?;
                let key = GoValue::Str(GoStr::Text(key.clone()));
                Some((Item::own(key), Item::element(value)))
            }
            Items::Built(entries, element) => {
                let (key, value) = entries.get(turn)?;
                let key = Item::own(GoValue::Str(key.clone()));
                Some((key, Item::own_element(value.clone(), *element)))
            }
            Items::Count(count, like) => {
                if turn as i64 >= *count {
                    return None;
                }
                Some((Item::Missing, Item::own(number_like(like, turn as i64))))
            }
        }
    }
}

/// An integer of the same type as another one.
fn number_like(like: &GoValue, value: i64) -> GoValue {
    match like {
        GoValue::Int32(_) => GoValue::Int32(value as i32),
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
        otherwise: Place,
        end: Place,
        inside: &Range<Slot>,
    ) -> Result<(), Stop> {
        let holes = self.pass.holes();
        let value = self.pipeline(pipe)?;
        if matches!(value, Item::Pending) {
            return self.skip_range(otherwise, end, holes);
        }
        let items = self.items(value, pipe)?;
        let Some(items) = items.filter(|items| items.len() > 0) else {
            self.place = otherwise;
            return Ok(());
        };
        let body = self.place;
        self.dots.push(self.dot.clone());
        self.loops.push(Loop {
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

    /// What a value has to offer to a loop; `None` is nothing, as with a missing value.
    fn items(&mut self, value: Item<'a>, pipe: &'a Pipe) -> Result<Option<Items<'a>>, Stop> {
        Ok(Some(match value {
            Item::Missing | Item::Nil | Item::Pending => return Ok(None),
            Item::Core(Value::List(list), _) => Items::Values(list.as_slice()),
            Item::Core(Value::Map(map), _) => {
                self.pass.steps(map.len())?;
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                Items::Entries(entries)
            }
            Item::Own(GoValue::List(list), _) => Items::List(list),
            Item::Own(value, _) if value.stands_in() => match value.meant() {
                GoValue::List(list) => Items::List(list),
                GoValue::Map(map) => Items::Built(map.sorted(), map.element()),
                _ => return Ok(None),
            },
            Item::Own(GoValue::Map(map), _) => {
                self.pass.steps(map.len())?;
                Items::Built(map.sorted(), map.element())
            }
            other => return self.count(&other.into_value(), pipe).map(Some),
        }))
    }

    fn count(&mut self, value: &GoValue, pipe: &'a Pipe) -> Result<Items<'a>, Stop> {
        let count = match value.number() {
            Some(Number::Int(count)) => count,
            Some(Number::Uint(count)) => i64::try_from(count).unwrap_or(i64::MAX),
            _ => {
                let text = super::formatted(b"%v", std::slice::from_ref(value));
                return Err(self.fail(format!("range can't iterate over {text}")));
            }
        };
        if pipe.variables.len() > 1 {
            let reason = format!("can't use {count} to iterate over more than one variable");
            return Err(self.fail(reason));
        }
        Ok(Items::Count(count, value.clone()))
    }

    /// Begins the next turn of the innermost loop, or ends it.
    pub(super) fn next_turn(&mut self) -> Result<(), Stop> {
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
        self.dots.truncate(dots + 1);
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

    fn set_in_turn(&mut self, pipe: &'a Pipe, target: &Target, item: Item<'a>) -> Result<(), Stop> {
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
        self.take_back_dot();
        self.place = ended.end;
    }
}
