//! Arguments of a call.

use std::sync::Arc;

use quillet_core::{Map, MapTable, Value};
use quillet_yaml::Node;

use super::ScriptInput;
use crate::error::ScriptError;
use crate::js::Parameter;
use crate::syntax::CallExpr;

/// Result of a directive.
pub(super) type DirectiveResult = Result<Option<Value>, ScriptError>;

/// The evaluated arguments of one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallParams {
    /// Positional values: `f(1, 2)`, or the single value of `$f: 1`.
    pub(crate) positional: Vec<Option<Value>>,
    /// Named values: `f(a=1)`, `$f: {a: 1}`, or keys next to the call.
    pub(crate) named: Map,
    /// Whether an argument was given at all, even an empty object.
    pub(crate) given: bool,
    /// The value passed on by a chain or a pipe.
    pub(crate) piped: Option<Value>,
    /// The call as written, for directives that read it themselves.
    pub(crate) call: Option<Arc<CallExpr>>,
}

impl CallParams {
    /// Creates arguments from one positional value.
    pub(crate) fn one(value: Option<Value>) -> Self {
        let mut params = CallParams::default();
        params.add(value);
        params
    }

    /// Creates arguments from positional values.
    pub(crate) fn list(values: Vec<Option<Value>>) -> Self {
        CallParams {
            given: !values.is_empty(),
            positional: values,
            ..CallParams::default()
        }
    }

    /// Adds the value after a call's colon: fields of an object by name, any other value as the
    /// first argument.
    pub(crate) fn add(&mut self, value: Option<Value>) {
        self.given = true;
        match value {
            Some(Value::Map(map)) => {
                let mut table = self.named.to_table();
                table.extend(map.iter().map(|(key, value)| (key.clone(), value.clone())));
                self.named = Map::new(table);
            }
            value => self.positional.push(value),
        }
    }

    pub(crate) fn add_node(&mut self, node: &Node) {
        self.add(Some(node.value()));
    }

    /// Sets a named value.
    pub(crate) fn set(&mut self, name: &str, value: Option<Value>) {
        self.given = true;
        let Some(value) = value else { return };
        let mut table = self.named.to_table();
        table.insert(name.into(), value);
        self.named = Map::new(table);
    }

    /// Returns the value with a name, or else at a position.
    pub(crate) fn get(&self, name: &str, place: usize) -> Option<&Value> {
        self.named
            .get(name)
            .or_else(|| self.positional.get(place)?.as_ref())
    }

    /// Returns the text with a name, or else at a position.
    pub(crate) fn text(&self, name: &str, place: usize) -> Option<&str> {
        self.get(name, place)?.as_str()
    }

    /// Returns all arguments as one value, for `$echo`, `$print` and `$ret`.
    pub(crate) fn as_value(&self) -> Option<Value> {
        match (self.positional.as_slice(), self.named.is_empty()) {
            ([], true) if self.given => Some(Value::Map(Map::default())),
            ([], true) => self.piped.clone(),
            ([], false) => Some(Value::Map(self.named.clone())),
            ([one], true) => one.clone(),
            (many, true) => Some(
                many.iter()
                    .map(|value| value.clone().unwrap_or_default())
                    .collect::<Vec<_>>()
                    .into(),
            ),
            (many, false) => Some(Value::Map(mixed(many, &self.named))),
        }
    }

    /// Returns the positional arguments for a function. Named values go to the parameters of the
    /// same names, or as one object to a function that destructures it (`({a, b})`). A piped value
    /// becomes the first parameter, or the `content` of that object.
    pub(crate) fn for_function(&self, parameters: Option<&[Parameter]>) -> Vec<Option<Value>> {
        let mut list = self.positional.clone();
        let plain =
            parameters.is_some_and(|known| known.first().is_some_and(|first| !first.object));
        if plain
            && self.named.is_empty()
            && list.is_empty()
            && let Some(piped) = &self.piped
        {
            return vec![Some(piped.clone())];
        }
        if let Some(placed) = parameters.and_then(|known| self.bind_by_name(known)) {
            return placed;
        }
        let named = match (&self.piped, list.is_empty()) {
            (Some(piped), true) => with_piped(piped, &self.named),
            _ => self.named.clone(),
        };
        if !named.is_empty() || (list.is_empty() && self.given) {
            list.push(Some(Value::Map(named)));
        }
        list
    }

    /// Orders the values by parameter, if every name is a parameter.
    fn bind_by_name(&self, parameters: &[Parameter]) -> Option<Vec<Option<Value>>> {
        let place = |name: &str| parameters.iter().position(|known| known.name == name);
        if self.named.is_empty()
            || self.piped.is_some()
            || !self.named.iter().all(|(name, _)| place(name).is_some())
        {
            return None;
        }
        let mut list = self.positional.clone();
        for (name, value) in self.named.iter() {
            let at = place(name)?;
            if list.len() <= at {
                list.resize(at + 1, None);
            }
            *list.get_mut(at)? = Some(value.clone());
        }
        Some(list)
    }

    /// Returns the input for a script. A piped scalar becomes `content`, and a piped object
    /// contributes its fields; explicit arguments override both.
    pub(crate) fn for_script(&self) -> ScriptInput {
        let named = match &self.piped {
            Some(piped) => with_piped(piped, &self.named),
            None => self.named.clone(),
        };
        match (self.positional.as_slice(), named.is_empty()) {
            ([], true) => ScriptInput::None,
            ([], false) => ScriptInput::Named(named),
            ([one], true) => ScriptInput::Single(one.clone().unwrap_or_default()),
            (many, true) => ScriptInput::Single(
                many.iter()
                    .map(|value| value.clone().unwrap_or_default())
                    .collect::<Vec<_>>()
                    .into(),
            ),
            (many, false) => ScriptInput::Named(mixed(many, &named)),
        }
    }
}

/// Merges positional values, named `0`, `1`, …, with the named ones.
fn mixed(positional: &[Option<Value>], named: &Map) -> Map {
    let places = positional.iter().enumerate();
    let places =
        places.filter_map(|(place, value)| Some((Arc::from(place.to_string()), value.clone()?)));
    let names = named
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()));
    Map::new(places.chain(names).collect::<MapTable>())
}

fn with_piped(piped: &Value, named: &Map) -> Map {
    let mut table = match piped {
        Value::Map(map) => map.to_table(),
        Value::Null => MapTable::default(),
        other => MapTable::from_iter([(Arc::from("content"), other.clone())]),
    };
    table.extend(
        named
            .iter()
            .map(|(key, value)| (key.clone(), value.clone())),
    );
    Map::new(table)
}
