//! Evaluated arguments sorted into places and names.

use std::sync::Arc;

use quillet_core::{Map, MapTable, Value};

/// Where an argument's value goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentSlot {
    /// The next place.
    Place,
    /// A name.
    Name(Arc<str>),
    /// The next place and the name that the argument itself is: `f(x)` is also `x=x`.
    PlaceAndName(Arc<str>),
}

/// The arguments of a call, evaluated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvaluatedArguments {
    /// Values by place; `None` is `undefined`.
    pub positional: Vec<Option<Value>>,
    /// Values by name. A name whose value is `undefined` is omitted.
    pub named: MapTable,
    /// Whether a name was given with `=`, were its value `undefined`.
    has_names: bool,
    /// How many places also have a name of their own.
    implied: usize,
}

impl EvaluatedArguments {
    /// Sorts values into places and names. A later value of a name wins.
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

    /// All of it as one value: a single value is itself, several values are a list, and as
    /// soon as there is a name it is an object with the places under `0`, `1`….
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

    /// Places under `0`, `1`… and names, as one object.
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

/// A list holds no `undefined`: an empty place is null.
fn list(values: &[Option<Value>]) -> Value {
    let items = values.iter().map(|value| value.clone().unwrap_or_default());
    Value::from(items.collect::<Vec<_>>())
}
