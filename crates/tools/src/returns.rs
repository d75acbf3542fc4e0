//! Conversion of answers to results, and fallback values of failed calls.

use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::{Map, Value};
use quillet_schema::Validator;
use serde_json::Value as Json;

use crate::parameters::{brief, compile};

/// Declaration of a tool's results.
#[derive(Debug, Default)]
pub(crate) struct Returns {
    schema: Option<Json>,
    validator: Option<Validator>,
    /// The only property of the schema, if it has exactly one. Objects display as its value.
    printed: Option<String>,
    path: Vec<String>,
}

impl Returns {
    pub(crate) fn new(schema: Option<&Json>, path: Vec<String>) -> Self {
        Returns {
            schema: schema.cloned(),
            // If a schema does not compile, only the warning about mismatches is lost.
            validator: schema.and_then(|schema| compile(schema).ok()),
            printed: schema.filter(|_| path.is_empty()).and_then(only_property),
            path,
        }
    }

    /// Extracts the part that `result` selects. An answer that does not match the schema is logged
    /// and used anyway, because schemas often lag behind the service.
    pub(crate) fn result(&self, tool: &str, answer: Value) -> Result<Value, ToolError> {
        self.report_misfit(tool, &answer);
        if self.path.is_empty() {
            return Ok(self.printing(answer));
        }
        self.pick(tool, &answer)
    }

    /// Converts a text without a content type: parsed as JSON if the schema declares another type
    /// than string, otherwise unchanged.
    pub(crate) fn text(&self, tool: &str, text: &str) -> Result<Value, ToolError> {
        let kind = self.schema.as_ref().and_then(kind_of);
        if !self.path.is_empty() || kind.is_some_and(|kind| kind != "string") {
            return json(tool, text);
        }
        Ok(Value::from(text))
    }

    /// Whether the definition declares nothing about results.
    pub(crate) fn says_nothing(&self) -> bool {
        self.schema.is_none() && self.path.is_empty()
    }

    /// Whether the declared type is a string, number or boolean.
    pub(crate) fn is_scalar(&self) -> bool {
        let kind = self.schema.as_ref().and_then(kind_of);
        self.path.is_empty() && matches!(kind, Some("string" | "integer" | "number" | "boolean"))
    }

    /// Result of an empty answer: the empty value of the declared type.
    pub(crate) fn nothing(&self) -> Value {
        self.schema
            .as_ref()
            .map_or_else(|| Value::from(""), |schema| empty(schema, 0))
    }

    /// Fallback value of a failed call: the definition's `default`, or the empty value of the
    /// declared type. Objects get their declared fields, so that templates can read them.
    pub(crate) fn default(&self, declared: Option<Json>) -> Value {
        let part = self
            .schema
            .as_ref()
            .and_then(|schema| part(schema, &self.path));
        let value = match (declared, part) {
            (Some(declared), _) => Value::from(declared),
            (None, Some(schema)) => empty(schema, 0),
            (None, None) => Value::from(""),
        };
        self.printing(value)
    }

    fn printing(&self, value: Value) -> Value {
        match (value, &self.printed) {
            (Value::Map(map), Some(key)) if map.get(key).is_some() => {
                map.with_display_key(key).into()
            }
            (value, _) => value,
        }
    }

    fn pick(&self, tool: &str, answer: &Value) -> Result<Value, ToolError> {
        let mut value = answer;
        for step in &self.path {
            let next = match value {
                Value::Map(map) => map.get(step),
                Value::List(list) => step.parse().ok().and_then(|index: usize| list.get(index)),
                _ => None,
            };
            value = next.ok_or_else(|| no_such_part(tool, &self.path, step, value))?;
        }
        Ok(value.clone())
    }

    fn report_misfit(&self, tool: &str, answer: &Value) {
        let Some(validator) = &self.validator else {
            return;
        };
        let tree = Json::from(answer);
        if let Some(finding) = validator.findings(&tree, 1).first() {
            let place = finding.pointer.as_str();
            let error = brief(&finding.message);
            tracing::warn!(
                tool,
                place,
                error,
                "the answer does not fit the tool's returns"
            );
        }
    }
}

/// Parses an answer that must be JSON.
pub(crate) fn json(tool: &str, text: &str) -> Result<Value, ToolError> {
    quillet_core::json::parse(text).map_err(|error| {
        let start = brief(text.get(..text.len().min(80)).unwrap_or_default());
        let message = format!("{tool}: the answer is not JSON: {error} (it starts with {start:?})");
        ToolError::new(ToolErrorKind::Protocol, message)
    })
}

fn no_such_part(tool: &str, path: &[String], step: &str, value: &Value) -> ToolError {
    let there = match value {
        Value::Map(map) => {
            let keys: Vec<&str> = map.iter().take(20).map(|(key, _)| &**key).collect();
            format!("an object with {}", keys.join(", "))
        }
        Value::List(list) => format!("a list of {}", list.len()),
        other => other.kind().to_owned(),
    };
    let path = path.join(".");
    let message = format!(
        "{tool}: the answer has no {path} (at {step:?} there is {there}; correct \"result\")"
    );
    ToolError::new(ToolErrorKind::Protocol, message)
}

fn only_property(schema: &Json) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    match properties.len() {
        1 => properties.keys().next().cloned(),
        _ => None,
    }
}

/// Returns the schema at a path within the answer.
fn part<'s>(schema: &'s Json, path: &[String]) -> Option<&'s Json> {
    path.iter().try_fold(schema, |schema, step| {
        schema
            .get("properties")
            .and_then(|properties| properties.get(step))
            .or(schema.get("items"))
    })
}

/// Returns the declared type, or the first non-null one of several.
fn kind_of(schema: &Json) -> Option<&str> {
    match schema.get("type") {
        Some(Json::String(kind)) => Some(kind),
        Some(Json::Array(kinds)) => kinds
            .iter()
            .filter_map(Json::as_str)
            .find(|kind| *kind != "null"),
        _ => schema.get("properties").map(|_| "object"),
    }
}

// Handwritten schemas are shallow; the limit is for generated schemas.
const MOST_NESTED: usize = 8;

fn empty(schema: &Json, depth: usize) -> Value {
    match kind_of(schema) {
        Some("object") if depth < MOST_NESTED => {
            let properties = schema.get("properties").and_then(Json::as_object);
            let fields = properties.into_iter().flatten();
            let map: Map = fields
                .map(|(name, schema)| (name.as_str(), empty(schema, depth + 1)))
                .collect();
            map.into()
        }
        Some("object") => Map::default().into(),
        Some("array") => Vec::<Value>::new().into(),
        Some("integer" | "number") => Value::Int(0),
        Some("boolean") => Value::Bool(false),
        _ => Value::from(""),
    }
}
