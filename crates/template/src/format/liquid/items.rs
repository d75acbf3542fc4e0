//! What loops run over.

use std::sync::Arc;

use quillet_core::{List, Map, Value as Data};

use super::value::{Value, length_of};

/// Items, none of which is made before its turn.
#[derive(Debug)]
pub(super) enum Items {
    List(List),
    /// Each is a list of the key and the value.
    Pairs(Map),
    Range(i64, usize),
    /// A text is one item, whatever part of it is asked for.
    Text(Data),
    None,
}

/// A part of some items.
#[derive(Debug)]
pub(super) struct Segment {
    items: Items,
    start: usize,
    pub(super) length: usize,
    reversed: bool,
}

impl Items {
    /// What a loop over a value runs over.
    pub(super) fn of(value: &Value) -> Self {
        match value.meant() {
            Value::Data(Data::List(list)) => Items::List(list),
            Value::Data(Data::Map(map)) => Items::Pairs(map),
            Value::Data(Data::Str(text)) if !text.is_empty() => Items::Text(Data::Str(text)),
            Value::Range(from, to) => Items::Range(from, length_of(from, to)),
            _ => Items::None,
        }
    }

    fn length(&self) -> usize {
        match self {
            Items::List(list) => list.len(),
            Items::Pairs(map) => map.len(),
            Items::Range(_, length) => *length,
            Items::Text(_) => 1,
            Items::None => 0,
        }
    }

    /// Those from one on, up to another one.
    pub(super) fn segment(self, from: i64, to: Option<i64>, reversed: bool) -> Segment {
        let whole = self.length();
        let clamped = |at: i64| usize::try_from(at.max(0)).unwrap_or(usize::MAX).min(whole);
        let (start, end) = match &self {
            Items::Text(_) => (0, 1),
            _ => (clamped(from), to.map_or(whole, clamped)),
        };
        Segment {
            items: self,
            start,
            length: end.saturating_sub(start),
            reversed,
        }
    }
}

impl Segment {
    pub(super) fn get(&self, turn: usize) -> Value {
        let at = if self.reversed {
            self.start + self.length.saturating_sub(turn + 1)
        } else {
            self.start + turn
        };
        let found = match &self.items {
            Items::List(list) => list.get(at).cloned(),
            Items::Pairs(map) => map
                .table()
                .get_index(at)
                .map(|(key, value)| Data::from(vec![Data::Str(Arc::clone(key)), value.clone()])),
            Items::Range(from, _) => {
                let more = i64::try_from(at).unwrap_or(i64::MAX);
                Some(Data::Int(from.saturating_add(more)))
            }
            Items::Text(text) => Some(text.clone()),
            Items::None => None,
        };
        found.map_or(Value::NIL, Value::Data)
    }
}
