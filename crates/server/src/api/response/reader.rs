//! Reads the members of a JSON object, with the conversions of pydantic's lax mode (`"5"` is a
//! number, `"true"` a boolean, `null` is absent), and collects all errors.

use std::fmt::Display;

use quillet_core::nearest;
use serde_json::{Map, Value, json};

use super::validation::{PathSegment, ValidationReport};

/// The maximum number of characters reported of an unknown member's name.
const LONGEST_NAME: usize = 64;

/// Reads a JSON object.
pub(super) struct ObjectReader<'f> {
    members: Map<String, Value>,
    path: Vec<PathSegment>,
    faults: &'f mut ValidationReport,
    /// The names of the members that were read.
    asked: Vec<String>,
}

impl<'f> ObjectReader<'f> {
    /// Creates a reader for the object at a path. Reports an error if the value is not an object.
    pub(super) fn read(
        value: Value,
        path: Vec<PathSegment>,
        faults: &'f mut ValidationReport,
    ) -> Option<Self> {
        match value {
            Value::Object(members) => Some(ObjectReader {
                members,
                path,
                faults,
                asked: Vec::new(),
            }),
            other => {
                let what = "Input should be a valid dictionary or object to extract fields from";
                faults.add("model_attributes_type", &path, what.to_owned(), &other);
                None
            }
        }
    }

    /// Reports required members that are missing.
    pub(super) fn require(&mut self, names: &[&str]) {
        for name in names {
            if !self.members.contains_key(*name) {
                let at = self.place(name);
                let whole = Value::Object(self.members.clone());
                self.faults
                    .add("missing", &at, "Field required".to_owned(), &whole);
            }
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|value| !value.is_null())
    }

    /// Takes a member without conversion. Returns `None` for `null`.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.asked.push(name.to_owned());
        // The key keeps the value `null`, so that the member still counts as known.
        let value = self.members.get_mut(name)?.take();
        (!value.is_null()).then_some(value)
    }

    /// Returns the object without the members taken so far.
    pub(super) fn to_value(&self) -> Value {
        Value::Object(self.members.clone())
    }

    /// Reports members that were not read. Call it after all members are read.
    pub(super) fn note_unknown(&mut self) {
        for name in self.members.keys() {
            if self.asked.contains(name) {
                continue;
            }
            let near = nearest(name, self.asked.iter().map(String::as_str));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            let path = self.path.iter().skip(1).map(|step| format!("{step}."));
            let shown: String = name.chars().take(LONGEST_NAME).collect();
            let place = format!("{}{shown}", path.collect::<String>());
            self.faults
                .note(format!("unknown member {place:?} in the request{hint}"));
        }
    }

    /// Returns the names of the members, in order.
    pub(super) fn names(&self) -> Vec<String> {
        self.members.keys().cloned().collect()
    }

    /// Puts a taken member back.
    pub(super) fn put(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }

    /// Returns the path of a member.
    pub(super) fn place(&self, name: &str) -> Vec<PathSegment> {
        let mut path = self.path.clone();
        path.push(name.into());
        path
    }

    pub(super) fn faults(&mut self) -> &mut ValidationReport {
        self.faults
    }

    /// Reports an invalid member.
    pub(super) fn fault(&mut self, kind: &'static str, name: &str, msg: &str, input: &Value) {
        let at = self.place(name);
        self.faults.add(kind, &at, msg.to_owned(), input);
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                self.fault(
                    "string_type",
                    name,
                    "Input should be a valid string",
                    &other,
                );
                None
            }
        }
    }

    /// Reads an id, which may be a number.
    pub(super) fn id(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            other => {
                self.fault(
                    "string_type",
                    name,
                    "Input should be a valid string",
                    &other,
                );
                None
            }
        }
    }

    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        self.choice(name).unwrap_or(default)
    }

    /// Reads a boolean, or one of the words and numbers that stand for one.
    pub(super) fn choice(&mut self, name: &str) -> Option<bool> {
        let given = self.take(name)?;
        let known = match &given {
            Value::Bool(on) => Some(*on),
            Value::Number(number) => match number.as_f64() {
                Some(0.0) => Some(false),
                Some(1.0) => Some(true),
                _ => None,
            },
            Value::String(word) => match word.to_ascii_lowercase().as_str() {
                "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
                "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        };
        if known.is_none() {
            let (kind, msg) = match given {
                Value::String(_) | Value::Number(_) => (
                    "bool_parsing",
                    "Input should be a valid boolean, unable to interpret input",
                ),
                _ => ("bool_type", "Input should be a valid boolean"),
            };
            self.fault(kind, name, msg, &given);
        }
        known
    }

    /// Reads a number from `least` to `most`.
    pub(super) fn number(&mut self, name: &str, least: f64, most: f64) -> Option<f64> {
        let given = self.take(name)?;
        let number = match &given {
            Value::Number(number) => number.as_f64(),
            Value::Bool(on) => Some(f64::from(u8::from(*on))),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let Some(number) = number.filter(|number| number.is_finite()) else {
            let (kind, msg) = match given {
                Value::String(_) => (
                    "float_parsing",
                    "Input should be a valid number, unable to parse string as a number",
                ),
                _ => ("float_type", "Input should be a valid number"),
            };
            self.fault(kind, name, msg, &given);
            return None;
        };
        self.bounded(name, &given, number, least, most)
    }

    /// Reads an integer that is at least `least`.
    pub(super) fn integer(&mut self, name: &str, least: u64) -> Option<u64> {
        let given = self.take(name)?;
        let (whole, kind, msg) = match &given {
            Value::Number(number) => {
                let float = number.as_f64().unwrap_or(f64::NAN);
                let whole = number.as_i64().or_else(|| exact(float));
                let msg = "Input should be a valid integer, got a number with a fractional part";
                (
                    whole.or_else(|| number.as_u64().map(|_| i64::MAX)),
                    "int_from_float",
                    msg,
                )
            }
            Value::String(text) => {
                let msg = "Input should be a valid integer, unable to parse string as an integer";
                (text.trim().parse().ok(), "int_parsing", msg)
            }
            _ => (None, "int_type", "Input should be a valid integer"),
        };
        let Some(whole) = whole else {
            self.fault(kind, name, msg, &given);
            return None;
        };
        match u64::try_from(whole) {
            Ok(whole) if whole >= least => Some(whole),
            _ => {
                self.out_of_bounds("greater_than_equal", name, &given, least);
                None
            }
        }
    }

    fn bounded(
        &mut self,
        name: &str,
        given: &Value,
        number: f64,
        least: f64,
        most: f64,
    ) -> Option<f64> {
        if number < least {
            self.out_of_bounds("greater_than_equal", name, given, least);
            return None;
        }
        if number > most {
            self.out_of_bounds("less_than_equal", name, given, most);
            return None;
        }
        Some(number)
    }

    fn out_of_bounds<N: Display + Into<Value> + Copy>(
        &mut self,
        kind: &'static str,
        name: &str,
        given: &Value,
        bound: N,
    ) {
        let (word, key) = match kind {
            "less_than_equal" => ("less than or equal to", "le"),
            _ => ("greater than or equal to", "ge"),
        };
        let at = self.place(name);
        let msg = format!("Input should be {word} {bound}");
        let bound: Value = bound.into();
        self.faults
            .add_with(kind, &at, msg, given, Some(json!({key: bound})));
    }

    /// Reads one of several words.
    pub(super) fn word(&mut self, name: &str, words: &[&str]) -> Option<String> {
        let given = self.take(name)?;
        if let Some(word) = given.as_str().filter(|word| words.contains(word)) {
            return Some(word.to_owned());
        }
        let at = self.place(name);
        not_one_of(self.faults, &at, &given, words);
        None
    }

    /// Reads the items of a list, with their paths.
    pub(super) fn list(&mut self, name: &str) -> Vec<(Value, Vec<PathSegment>)> {
        match self.take(name) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                let at = self.place(name);
                let placed = |(index, item): (usize, Value)| {
                    let mut path = at.clone();
                    path.push(index.into());
                    (item, path)
                };
                items.into_iter().enumerate().map(placed).collect()
            }
            Some(other) => {
                self.fault("list_type", name, "Input should be a valid list", &other);
                Vec::new()
            }
        }
    }

    /// Reads the items of a list of objects.
    pub(super) fn objects<T>(
        &mut self,
        name: &str,
        mut read: impl FnMut(&mut ObjectReader<'_>) -> Option<T>,
    ) -> Vec<T> {
        let items = self.list(name);
        let faults = &mut *self.faults;
        let item = |(value, path)| read(&mut ObjectReader::read(value, path, faults)?);
        items.into_iter().filter_map(item).collect()
    }

    /// Reads a list of strings. Numbers are converted to digits, as in [`ObjectReader::id`].
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        let items = self.list(name);
        let mut texts = Vec::with_capacity(items.len());
        for (item, path) in items {
            match item {
                Value::String(text) => texts.push(text),
                Value::Number(number) => texts.push(number.to_string()),
                other => {
                    let msg = "Input should be a valid string".to_owned();
                    self.faults.add("string_type", &path, msg, &other);
                }
            }
        }
        texts
    }

    /// Reads the members of an object with any names.
    pub(super) fn table(&mut self, name: &str) -> Map<String, Value> {
        match self.take(name) {
            None => Map::new(),
            Some(Value::Object(members)) => members,
            Some(other) => {
                self.fault(
                    "dict_type",
                    name,
                    "Input should be a valid dictionary",
                    &other,
                );
                Map::new()
            }
        }
    }

    /// Reads a member that is an object.
    pub(super) fn object(&mut self, name: &str) -> Option<ObjectReader<'_>> {
        let value = self.take(name)?;
        let path = self.place(name);
        ObjectReader::read(value, path, self.faults)
    }
}

/// Reports a value that is not one of the valid words.
pub(super) fn not_one_of(
    faults: &mut ValidationReport,
    at: &[PathSegment],
    given: &Value,
    words: &[&str],
) {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let expected = match quoted.as_slice() {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        one => one.concat(),
    };
    let msg = format!("Input should be {expected}");
    let ctx = json!({"expected": expected});
    faults.add_with("literal_error", at, msg, given, Some(ctx));
}

/// Converts a float to an integer, if the value is integral.
fn exact(float: f64) -> Option<i64> {
    (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
}
