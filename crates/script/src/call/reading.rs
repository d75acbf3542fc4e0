//! Reads settings by name and collects warnings about values of a wrong type.

use quillet_core::{Map, Value};

/// Reads parameters.
pub(super) struct ParameterReader<'a> {
    /// The parameters.
    pub(super) map: &'a Map,
    /// Warnings about invalid values.
    pub(super) warnings: Vec<String>,
    /// Names that were looked up.
    pub(super) asked: Vec<&'static str>,
}

impl<'a> ParameterReader<'a> {
    pub(super) fn new(map: &'a Map) -> Self {
        ParameterReader {
            map,
            warnings: Vec::new(),
            asked: Vec::new(),
        }
    }

    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Returns the first of several names that has a value.
    fn first(&mut self, names: &[&'static str]) -> Option<(&'static str, &'a Value)> {
        self.asked.extend(names);
        let found = |name: &&'static str| Some((*name, self.map.get(name)?));
        names
            .iter()
            .filter_map(found)
            .find(|(_, value)| **value != Value::Null)
    }

    fn refuse(&mut self, name: &str, value: &Value, wanted: &str) {
        self.warn(format!(
            "{name} is ignored: expected {wanted}, not {}",
            value.kind()
        ));
    }

    pub(super) fn number(&mut self, names: &[&'static str]) -> Option<f64> {
        let (name, value) = self.first(names)?;
        let number = match value {
            #[allow(clippy::cast_precision_loss)]
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Str(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| number.is_finite());
        if number.is_none() {
            self.refuse(name, value, "a number");
        }
        number
    }

    pub(super) fn count(&mut self, names: &[&'static str]) -> Option<u64> {
        let number = self.number(names)?;
        if number < 0.0 || number.fract() != 0.0 {
            let name = names.first().copied().unwrap_or_default();
            self.warn(format!(
                "{name} is ignored: expected a whole number from 0, not {number}"
            ));
            return None;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(number as u64)
    }

    pub(super) fn flag(&mut self, names: &[&'static str]) -> Option<bool> {
        let (name, value) = self.first(names)?;
        let flag = match value {
            Value::Bool(flag) => Some(*flag),
            Value::Str(text) if &**text == "true" => Some(true),
            Value::Str(text) if &**text == "false" => Some(false),
            _ => None,
        };
        if flag.is_none() {
            self.refuse(name, value, "true or false");
        }
        flag
    }

    pub(super) fn text(&mut self, names: &[&'static str]) -> Option<String> {
        let (name, value) = self.first(names)?;
        let text = value.as_str().map(str::to_owned);
        if text.is_none() {
            self.refuse(name, value, "a string");
        }
        text
    }

    /// Reads a list of texts, or one text with commas.
    pub(super) fn texts(&mut self, names: &[&'static str]) -> Vec<String> {
        let Some((name, value)) = self.first(names) else {
            return Vec::new();
        };
        match value {
            Value::Str(text) if text.trim_matches(',').contains(',') => {
                text.split(',').map(|stop| stop.trim().to_owned()).collect()
            }
            Value::Str(text) => vec![text.to_string()],
            Value::List(items) => items
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            other => {
                self.refuse(name, other, "a string or a list of strings");
                Vec::new()
            }
        }
    }

    pub(super) fn object(&mut self, name: &'static str) -> Option<&'a Map> {
        let (_, value) = self.first(&[name])?;
        let map = value.as_map();
        if map.is_none() {
            self.refuse(name, value, "an object");
        }
        map
    }
}
