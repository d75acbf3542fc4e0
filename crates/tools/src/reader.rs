//! Reads fields from the JSON of a definition, and collects all errors with their locations.

use quillet_core::{Diagnostic, Span, nearest};
use serde_json::{Map as Object, Value as Json};

use crate::field_location;

/// Text of a definition, with its diagnostics so far.
#[derive(Debug)]
pub(crate) struct DefinitionReader<'t> {
    source: &'t str,
    text: &'t str,
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// An object of the definition with its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectReader<'t> {
    pub(crate) fields: &'t Object<String, Json>,
    /// The object's key in the definition; empty for the definition itself.
    pub(crate) key: &'t str,
}

impl<'t> ObjectReader<'t> {
    pub(crate) fn path<'a>(&self, key: &'a str) -> Vec<&'a str>
    where
        't: 'a,
    {
        [self.key, key]
            .into_iter()
            .filter(|step| !step.is_empty())
            .collect()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'t Json> {
        self.fields.get(key).filter(|value| !value.is_null())
    }
}

impl<'t> DefinitionReader<'t> {
    pub(crate) fn new(source: &'t str, text: &'t str) -> Self {
        DefinitionReader {
            source,
            text,
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Parses the text.
    pub(crate) fn tree(&mut self) -> Option<Json> {
        match serde_json::from_str(self.text) {
            Ok(tree) => Some(tree),
            Err(error) => {
                let byte = offset(self.text, error.line(), error.column());
                let span = Span {
                    start: byte,
                    end: byte,
                };
                let text = error.to_string();
                // serde's message ends with the position, which the diagnostic already has.
                let text = text.split(" at line ").next().unwrap_or_default();
                let message = format!("the definition is not JSON: {text}");
                let finding = Diagnostic::error("tool.syntax", self.source, message);
                self.errors.push(finding.at(self.text, span));
                None
            }
        }
    }

    /// Adds an error about the value at a path.
    pub(crate) fn error(&mut self, path: &[&str], message: impl std::fmt::Display) {
        let message = match path {
            [] => message.to_string(),
            _ => format!("{}: {message}", path.join(".")),
        };
        let span = field_location::of_value(self.text, path);
        let finding = Diagnostic::error("tool.definition", self.source, message);
        self.errors.push(finding.at(self.text, span));
    }

    /// Adds a warning about the key at a path.
    pub(crate) fn warn(&mut self, path: &[&str], message: impl Into<String>, help: Option<String>) {
        let span = field_location::of_key(self.text, path);
        let mut finding =
            Diagnostic::warning("tool.definition", self.source, message).at(self.text, span);
        finding.help = help;
        self.warnings.push(finding);
    }

    /// Warns about unknown keys.
    pub(crate) fn only(&mut self, part: ObjectReader<'_>, known: &[&str]) {
        for key in part.fields.keys() {
            if known.contains(&key.as_str()) {
                continue;
            }
            let help = match nearest(key, known.iter().copied()) {
                Some(name) => format!("did you mean {name:?}?"),
                None => format!("expected one of {}", known.join(", ")),
            };
            let path = part.path(key);
            self.warn(
                &path,
                format!("unknown key {:?} is ignored", path.join(".")),
                Some(help),
            );
        }
    }

    pub(crate) fn string(&mut self, part: ObjectReader<'_>, key: &str) -> Option<String> {
        match part.get(key)? {
            Json::String(text) => Some(text.clone()),
            other => self.mistyped(part, key, "a string", other),
        }
    }

    pub(crate) fn boolean(&mut self, part: ObjectReader<'_>, key: &str) -> Option<bool> {
        match part.get(key)? {
            Json::Bool(value) => Some(*value),
            other => self.mistyped(part, key, "true or false", other),
        }
    }

    /// An integer of at least 1.
    pub(crate) fn count(&mut self, part: ObjectReader<'_>, key: &str) -> Option<u64> {
        let value = part.get(key)?;
        match value.as_u64().filter(|count| *count > 0) {
            Some(count) => Some(count),
            None => self.mistyped(part, key, "a whole number above 0", value),
        }
    }

    pub(crate) fn strings(&mut self, part: ObjectReader<'_>, key: &str) -> Vec<String> {
        let Some(value) = part.get(key) else {
            return Vec::new();
        };
        let items = value.as_array().map(|items| {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>()
        });
        match items.flatten() {
            Some(items) => items,
            None => self
                .mistyped(part, key, "a list of strings", value)
                .unwrap_or_default(),
        }
    }

    /// An object of strings, as pairs of name and value.
    pub(crate) fn pairs(&mut self, part: ObjectReader<'_>, key: &str) -> Vec<(String, String)> {
        let Some(value) = part.get(key) else {
            return Vec::new();
        };
        let pairs = value.as_object().map(|fields| {
            let pairs = fields
                .iter()
                .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
            pairs.collect::<Option<Vec<_>>>()
        });
        match pairs.flatten() {
            Some(pairs) => pairs,
            None => self
                .mistyped(part, key, "an object of strings", value)
                .unwrap_or_default(),
        }
    }

    pub(crate) fn mistyped<T>(
        &mut self,
        part: ObjectReader<'_>,
        key: &str,
        wanted: &str,
        found: &Json,
    ) -> Option<T> {
        let found = quillet_core::Value::from(found.clone());
        self.error(
            &part.path(key),
            format!("expected {wanted}, found {}", found.kind()),
        );
        None
    }
}

/// Converts line and column of `serde_json` to a byte offset. Both start at 1. Columns count bytes;
/// column 0 is the position before the first byte.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n');
    let start: usize = lines.take(line.saturating_sub(1)).map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}
