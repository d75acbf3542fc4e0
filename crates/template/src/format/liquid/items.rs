//! Items of loops.

use std::sync::Arc;

use quillet_core::{Map, Value as Data, ValueList};

use super::value::{Value, length_of};

/// Items of a loop, created on demand.
#[derive(Debug)]
pub(super) enum LoopItems {
    List(ValueList),
    /// Items of an object. Each is a list of a key and its value.
    Pairs(Map),
    Range(i64, usize),
    /// A text, which is a single item. `limit` and `offset` have no effect.
    Text(Data),
    None,
}

/// A range of items.
#[derive(Debug)]
pub(super) struct ItemSlice {
    items: LoopItems,
    start: usize,
    pub(super) length: usize,
    reversed: bool,
}

impl LoopItems {
    /// Returns the items of a value.
    pub(super) fn of(value: &Value) -> Self {
        match value.meant() {
            Value::Data(Data::List(list)) => LoopItems::List(list),
            Value::Data(Data::Map(map)) => LoopItems::Pairs(map),
            Value::Data(Data::Str(text)) if !text.is_empty() => LoopItems::Text(Data::Str(text)),
            Value::Range(from, to) => LoopItems::Range(from, length_of(from, to)),
            _ => LoopItems::None,
        }
    }

    fn length(&self) -> usize {
        match self {
            LoopItems::List(list) => list.len(),
            LoopItems::Pairs(map) => map.len(),
            LoopItems::Range(_, length) => *length,
            LoopItems::Text(_) => 1,
            LoopItems::None => 0,
        }
    }

    /// Returns the items between two indexes.
    pub(super) fn segment(self, from: i64, to: Option<i64>, reversed: bool) -> ItemSlice {
        let whole = self.length();
        let clamped = |at: i64| usize::try_from(at.max(0)).unwrap_or(usize::MAX).min(whole);
        let (start, end) = match &self {
            LoopItems::Text(_) => (0, 1),
            _ => (clamped(from), to.map_or(whole, clamped)),
        };
        ItemSlice {
            items: self,
            start,
            length: end.saturating_sub(start),
            reversed,
        }
    }
}

impl ItemSlice {
    pub(super) fn get(&self, turn: usize) -> Value {
        let at = if self.reversed {
            self.start + self.length.saturating_sub(turn + 1)
        } else {
            self.start + turn
        };
        let found = match &self.items {
            LoopItems::List(list) => list.get(at).cloned(),
            LoopItems::Pairs(map) => map
                .table()
                .get_index(at)
                .map(|(key, value)| Data::from(vec![Data::Str(Arc::clone(key)), value.clone()])),
            LoopItems::Range(from, _) => {
                let more = i64::try_from(at).unwrap_or(i64::MAX);
                Some(Data::Int(from.saturating_add(more)))
            }
            LoopItems::Text(text) => Some(text.clone()),
            LoopItems::None => None,
        };
        found.map_or(Value::NIL, Value::Data)
    }
}
