//! Binds evaluated arguments to positions and names.

use std::sync::Arc;

use quillet_core::{Map, MapTable, Value};

/// The position, the name, or both, to which an argument's value is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentSlot {
    /// The next position.
    Place,
    /// A name.
    Name(Arc<str>),
    /// The next position, and the name in the argument itself: `f(x)` also means `x=x`.
    PlaceAndName(Arc<str>),
}

/// The evaluated arguments of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvaluatedArguments {
    /// Positional values; `None` is `undefined`.
    pub positional: Vec<Option<Value>>,
    /// Named values. Names whose value is `undefined` are omitted.
    pub named: MapTable,
    /// Whether an argument has a name with `=`, even if its value is `undefined`.
    has_names: bool,
    /// Number of positional values that also have an implied name.
    implied: usize,
}

impl EvaluatedArguments {
    /// Binds values to positions and names. If a name occurs more than once, the last value is
    /// used.
    pub fn new(items: impl IntoIterator<Item = (ArgumentSlot, Option<Value>)>) -> Self {
        let mut bound = EvaluatedArguments::default();
        for (slot, value) in items {
            let name = match slot {
                ArgumentSlot::Place => {
                    bound.positional.push(value);
                    continue;
                }
                ArgumentSlot::Name(name) => {
                    bound.has_names = true;
                    name
                }
                ArgumentSlot::PlaceAndName(name) => {
                    bound.positional.push(value.clone());
                    bound.implied += 1;
                    name
                }
            };
            match value {
                Some(value) => bound.named.insert(name, value),
                None => bound.named.shift_remove(&name),
            };
        }
        bound
    }

    /// Returns all arguments as one value. A single positional value is returned unchanged, and
    /// several become a list. If there are named values, the result is an object in which the keys
    /// of positional values are `0`, `1`….
    #[must_use]
    pub fn value(&self) -> Option<Value> {
        if self.has_names {
            return Some(Value::Map(self.object()));
        }
        match self.positional.as_slice() {
            [] => None,
            [only] => only.clone(),
            several if self.implied == 0 => Some(list(several)),
            _ => Some(Value::Map(self.object())),
        }
    }

    /// Returns an object of all values. The keys of positional values are `0`, `1`….
    #[must_use]
    pub fn object(&self) -> Map {
        let mut table = MapTable::default();
        for (place, value) in self.positional.iter().enumerate() {
            if let Some(value) = value {
                table.insert(place.to_string().into(), value.clone());
            }
        }
        for (name, value) in &self.named {
            table.insert(Arc::clone(name), value.clone());
        }
        Map::new(table)
    }
}

/// Converts positional values to a list, in which `undefined` becomes null.
fn list(values: &[Option<Value>]) -> Value {
    let items = values.iter().map(|value| value.clone().unwrap_or_default());
    Value::from(items.collect::<Vec<_>>())
}
