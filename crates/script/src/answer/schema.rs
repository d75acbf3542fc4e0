//! JSON Schemas in scripts: normalization, validation, and conversion for providers.

use quillet_core::{Value, nearest};
use quillet_schema::{Rules, SchemaViolation, Validator};
use serde_json::{Map as JsonMap, Value as Json, json};

/// Maximum number of problems in one error message.
const MOST_FINDINGS: usize = 8;
// Maximum number of characters in the description of a problem. The description quotes the invalid
// value, which may be very long.
const MOST_CHARACTERS: usize = 300;

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// Alternative type names that scripts may use.
const ALIASES: [(&str, &str); 14] = [
    ("int", "integer"),
    ("long", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("num", "number"),
    ("bool", "boolean"),
    ("str", "string"),
    ("text", "string"),
    ("list", "array"),
    ("dict", "object"),
    ("map", "object"),
    ("obj", "object"),
    ("none", "null"),
    ("nil", "null"),
];

/// Returns the JSON Schema name of a type, or `None` for `any`.
///
/// # Errors
/// The type is unknown. The message suggests the most similar one.
pub(super) fn type_name(name: &str) -> Result<Option<&'static str>, String> {
    let lower = name.trim().to_ascii_lowercase();
    if lower == "any" {
        return Ok(None);
    }
    let alias = ALIASES.iter().find(|(alias, _)| *alias == lower);
    let known = TYPES.iter().find(|known| **known == lower);
    if let Some(found) = known.copied().or(alias.map(|(_, name)| *name)) {
        return Ok(Some(found));
    }
    let near = nearest(&lower, TYPES).map(|near| format!(" (did you mean {near:?}?)"));
    Err(format!(
        "unknown type {name:?}{}; known types: {}",
        near.unwrap_or_default(),
        TYPES.join(", ")
    ))
}

/// A normalized schema that can validate values.
#[derive(Debug)]
pub struct AnswerSchema {
    tree: Json,
    validator: Validator,
}

impl AnswerSchema {
    /// Normalizes and compiles a schema. Scripts may use short type names such as `int` for
    /// `integer`, a type name instead of a schema, and `required: true` in a property.
    ///
    /// # Errors
    /// Returns a message if the schema is invalid.
    pub fn new(schema: &Json) -> Result<Self, String> {
        let tree = normal(schema)?;
        let validator = Validator::new(&tree, Rules::default());
        let validator = validator.map_err(|error| shorten(&error.message))?;
        Ok(AnswerSchema { tree, validator })
    }

    /// Returns the normalized schema.
    #[must_use]
    pub fn tree(&self) -> &Json {
        &self.tree
    }

    /// Validates a value against the schema.
    ///
    /// # Errors
    /// Returns all violations with their paths: `user.tags[0]: 1 is not of type "string"`.
    pub fn check(&self, value: &Value) -> Result<(), Vec<String>> {
        let tree = Json::from(value);
        let findings = self.validator.findings(&tree, MOST_FINDINGS);
        let findings: Vec<String> = findings.iter().map(violation_message).collect();
        if findings.is_empty() {
            Ok(())
        } else {
            Err(findings)
        }
    }
}

fn violation_message(finding: &SchemaViolation) -> String {
    let message = shorten(&finding.message);
    let mut path = String::new();
    for piece in finding.pointer.split('/').skip(1) {
        match piece.parse::<usize>() {
            Ok(index) => path.push_str(&format!("[{index}]")),
            Err(_) if path.is_empty() => path.push_str(piece),
            Err(_) => path.push_str(&format!(".{piece}")),
        }
    }
    if path.is_empty() {
        message
    } else {
        format!("{path}: {message}")
    }
}

fn shorten(message: &str) -> String {
    match message.char_indices().nth(MOST_CHARACTERS) {
        // Cut at a character boundary, because the quoted value may contain multi-byte characters.
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
        None => message.to_owned(),
    }
}

/// Converts a schema to standard JSON Schema.
pub(super) fn normal(schema: &Json) -> Result<Json, String> {
    match schema {
        Json::String(name) => Ok(type_name(name)?.map_or(json!({}), |name| json!({"type": name}))),
        Json::Object(fields) => normal_object(fields),
        Json::Bool(_) => Ok(schema.clone()),
        Json::Null => Ok(json!({})),
        other => Err(format!("invalid schema: expected an object, not {other}")),
    }
}

fn normal_object(fields: &JsonMap<String, Json>) -> Result<Json, String> {
    let mut out = JsonMap::new();
    for (name, value) in fields {
        let value = match (name.as_str(), value) {
            ("type", Json::String(kind)) => match type_name(kind)? {
                Some(kind) => kind.into(),
                // JSON Schema expresses `any` by omitting the type.
                None => continue,
            },
            ("type", Json::Array(kinds)) => normal_types(kinds)?,
            ("properties" | "$defs" | "definitions" | "patternProperties", Json::Object(all)) => {
                normal_each(all)?
            }
            ("items" | "additionalProperties" | "not" | "contains", inner) => normal(inner)?,
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Json::Array(all)) => {
                Json::Array(all.iter().map(normal).collect::<Result<_, _>>()?)
            }
            // `require` adds this field to the `required` list of the enclosing object.
            ("required", Json::Bool(_)) => continue,
            _ => value.clone(),
        };
        out.insert(name.clone(), value);
    }
    // Reads the original properties, because normalization has removed their `required` flags.
    require(&mut out, fields.get("properties"));
    // Without a type, any value that is not an object would satisfy `properties`.
    if !out.contains_key("type") && out.contains_key("properties") {
        out.insert("type".to_owned(), "object".into());
    }
    Ok(Json::Object(out))
}

fn normal_types(kinds: &[Json]) -> Result<Json, String> {
    let names = kinds.iter().filter_map(Json::as_str).map(type_name);
    let names = names.collect::<Result<Vec<_>, _>>()?;
    Ok(names.into_iter().flatten().collect::<Vec<_>>().into())
}

fn normal_each(schemas: &JsonMap<String, Json>) -> Result<Json, String> {
    let named = |(name, schema): (&String, &Json)| {
        let schema = normal(schema).map_err(|error| format!("{name}: {error}"))?;
        Ok((name.clone(), schema))
    };
    schemas
        .iter()
        .map(named)
        .collect::<Result<_, String>>()
        .map(Json::Object)
}

/// Adds properties with `required: true` to the object's `required` list.
fn require(out: &mut JsonMap<String, Json>, properties: Option<&Json>) {
    let Some(Json::Object(properties)) = properties else {
        return;
    };
    let says = |schema: &Json| schema.get("required") == Some(&Json::Bool(true));
    let names = properties.iter().filter(|(_, schema)| says(schema));
    let names: Vec<Json> = names.map(|(name, _)| name.as_str().into()).collect();
    if names.is_empty() {
        return;
    }
    let required = out.entry("required").or_insert_with(|| json!([]));
    if let Json::Array(required) = required {
        let new = names.into_iter().filter(|name| !required.contains(name));
        let new: Vec<Json> = new.collect();
        required.extend(new);
    }
}

/// Name of the field that wraps other values for providers that accept only objects.
const WRAP: &str = "answer";

/// A schema in a form that providers accept.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderSchema {
    /// The schema. The schema, whose root is an object.
    pub schema: Json,
    /// Whether the value is wrapped in a field of the root object.
    pub wrapped: bool,
    /// Whether OpenAI's strict mode accepts the schema: all objects are closed, all fields are
    /// required, and all keywords are supported.
    pub strict: bool,
}

impl ProviderSchema {
    /// Converts a normalized schema to the form that providers accept.
    #[must_use]
    pub fn new(schema: &Json) -> Self {
        let wrapped = schema.get("type") != Some(&"object".into());
        let schema = if wrapped {
            wrap(schema.clone())
        } else {
            schema.clone()
        };
        let strict = is_strict(&schema);
        ProviderSchema {
            schema,
            wrapped,
            strict,
        }
    }

    /// Returns the `response_format` of the OpenAI Chat API.
    #[must_use]
    pub fn response_format(&self) -> Json {
        json!({
            "type": "json_schema",
            "json_schema": {"name": WRAP, "schema": self.schema, "strict": self.strict},
        })
    }

    /// Extracts the value from an answer. An answer that is not wrapped is returned unchanged.
    #[must_use]
    pub fn unwrap(&self, value: Value) -> Value {
        match &value {
            Value::Map(map) if self.wrapped && map.len() == 1 => {
                map.get(WRAP).cloned().unwrap_or(value)
            }
            _ => value,
        }
    }
}

/// Wraps a schema in an object. Definitions stay at the root, because references are relative to
/// it.
fn wrap(mut schema: Json) -> Json {
    let mut root = json!({"type": "object"});
    for name in ["$defs", "definitions"] {
        if let Some(definitions) = schema
            .as_object_mut()
            .and_then(|map| map.shift_remove(name))
        {
            root[name] = definitions;
        }
    }
    root["properties"] = json!({WRAP: schema});
    root["required"] = json!([WRAP]);
    root["additionalProperties"] = json!(false);
    root
}

/// Keywords that OpenAI's strict mode supports everywhere.
const STRICT: [&str; 13] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "title",
    "type",
];

fn is_strict(schema: &Json) -> bool {
    let Some(fields) = schema.as_object() else {
        return false;
    };
    // A single unsupported keyword makes the provider reject the schema, so strict mode is turned
    // off.
    if !fields.keys().all(|name| STRICT.contains(&name.as_str())) {
        return false;
    }
    let closed = match fields.get("properties") {
        Some(Json::Object(properties)) => {
            let required = fields.get("required").and_then(Json::as_array);
            let is_required =
                |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
            fields.get("additionalProperties") == Some(&Json::Bool(false))
                && properties.keys().all(|name| is_required(name))
        }
        _ => fields.get("type") != Some(&"object".into()),
    };
    closed && inner(fields).all(is_strict)
}

fn inner(fields: &JsonMap<String, Json>) -> impl Iterator<Item = &Json> {
    let maps = ["properties", "$defs", "definitions"];
    let maps = maps
        .into_iter()
        .filter_map(|name| fields.get(name)?.as_object());
    let lists = ["anyOf", "oneOf", "allOf", "prefixItems"];
    let lists = lists
        .into_iter()
        .filter_map(|name| fields.get(name)?.as_array());
    let named = maps.flat_map(|map| map.values());
    named.chain(lists.flatten()).chain(fields.get("items"))
}
