//! Structured answers of the mock: a small value that satisfies a JSON Schema, so code that needs
//! structured answers can run offline.

use serde_json::{Map, Value, json};

/// Maximum depth of nested schemas.
const DEPTH: usize = 24;
/// Maximum number of items in a list, even if the schema requires more.
const MOST_ITEMS: u64 = 8;

/// Returns a value that satisfies the types, choices, required properties and bounds of a schema.
/// `pick` selects among choices; it is the same for equal requests.
pub(super) fn sample(schema: &Value, pick: u64) -> Value {
    let root = schema;
    SchemaSampler { root, pick }.of(schema, "mock", 0)
}

struct SchemaSampler<'a> {
    root: &'a Value,
    pick: u64,
}

impl SchemaSampler<'_> {
    /// Returns a value for a schema. A text contains the name of its property.
    fn of(&self, schema: &Value, name: &str, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::Null;
        }
        if let Some(value) = self.said(schema) {
            return value;
        }
        if let Some(inner) = self.inner(schema) {
            return self.of(inner, name, depth + 1);
        }
        match kind(schema) {
            "object" => self.object(schema, depth),
            "array" => self.list(schema, name, depth),
            "integer" | "number" => number(schema),
            "boolean" => json!(true),
            "null" => Value::Null,
            _ => json!(text(schema, name)),
        }
    }

    /// Returns the value that the schema determines: a constant, a choice or a default.
    fn said(&self, schema: &Value) -> Option<Value> {
        if let Some(constant) = schema.get("const") {
            return Some(constant.clone());
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            let count = u64::try_from(choices.len())
                .ok()
                .filter(|count| *count > 0)?;
            let chosen = usize::try_from(self.pick % count).ok()?;
            return choices.get(chosen).cloned();
        }
        schema.get("default").cloned()
    }

    /// Resolves a reference, or returns the first of several alternative schemas.
    fn inner<'s>(&'s self, schema: &'s Value) -> Option<&'s Value> {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return self.root.pointer(reference.strip_prefix('#')?);
        }
        let choices = ["anyOf", "oneOf", "allOf"]
            .iter()
            .find_map(|key| schema.get(key));
        choices.and_then(Value::as_array)?.first()
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields = properties.into_iter().flatten();
        let filled = fields.map(|(name, schema)| (name.clone(), self.of(schema, name, depth + 1)));
        Value::Object(filled.collect::<Map<String, Value>>())
    }

    fn list(&self, schema: &Value, name: &str, depth: usize) -> Value {
        let wanted = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1);
        let Some(item) = schema.get("items") else {
            return json!([]);
        };
        let items = (0..wanted.clamp(1, MOST_ITEMS)).map(|_| self.of(item, name, depth + 1));
        Value::Array(items.collect())
    }
}

/// Returns the first type of a schema that is not `null`.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

fn number(schema: &Value) -> Value {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let least = bound("minimum").or(bound("exclusiveMinimum").map(|least| least.floor() + 1.0));
    let most = bound("maximum").or(bound("exclusiveMaximum").map(|most| most.ceil() - 1.0));
    let number = least.unwrap_or(1.0).min(most.unwrap_or(f64::MAX));
    if number.fract() == 0.0 && number.abs() < 1e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

fn text(schema: &Value, name: &str) -> String {
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
    let mut text = match name {
        "mock" => "mock".to_owned(),
        name => format!("mock {name}"),
    };
    let least = usize::try_from(bound("minLength").unwrap_or(0))
        .unwrap_or(0)
        .min(1_000);
    while text.chars().count() < least {
        text.push('.');
    }
    let most = bound("maxLength").and_then(|most| usize::try_from(most).ok());
    text.chars().take(most.unwrap_or(usize::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_pass_their_schemas() {
        let table = [
            (json!({"type": "number"}), json!(1)),
            (json!({"type": "integer", "minimum": 7}), json!(7)),
            (json!({"type": "number", "maximum": 0.5}), json!(0.5)),
            (json!({"type": "boolean"}), json!(true)),
            (json!({"type": ["null", "string"]}), json!("mock")),
            (json!({"enum": ["a", "b", "c"]}), json!("b")),
            (json!({"type": "string", "minLength": 6}), json!("mock..")),
            (json!({"type": "string", "maxLength": 2}), json!("mo")),
            (
                json!({"type": "array", "items": {"type": "string"}, "minItems": 2}),
                json!(["mock", "mock"]),
            ),
            (
                json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}),
                json!({"name": "mock name", "age": 1}),
            ),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"const": 5}}}),
                json!(5),
            ),
            (
                json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
                json!(true),
            ),
        ];
        for (schema, expected) in table {
            assert_eq!(sample(&schema, 4), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        let mut value = &sample(&schema, 0);
        let mut depth = 0;
        while let Some(next) = value.get("next") {
            value = next;
            depth += 1;
        }
        assert!(depth <= DEPTH);
    }
}
