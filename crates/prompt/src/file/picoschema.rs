//! Picoschema, dotprompt's compact notation for JSON Schema.
//!
//! A property is `name?: type, description`. A name may be followed by `(array)`, `(object)` or
//! `(enum)`, and `(*)` matches all other properties. Types may also be names of external schemas.
//! The rules, including how JSON Schema is recognised, are those of the reference implementation
//! (google/dotprompt).

use serde_json::{Map as Object, Value as Tree, json};

use super::FileEnvironment;
use super::yaml::{YamlData, YamlEntry, YamlNode};

const SCALARS: [&str; 6] = ["any", "boolean", "integer", "null", "number", "string"];

/// Byte offset in the file and error message.
pub(super) type SchemaError = (usize, String);

/// Converts a declaration to JSON Schema.
///
/// # Errors
/// The declaration is not valid Picoschema.
pub(super) fn read(node: &YamlNode, outside: &dyn FileEnvironment) -> Result<Tree, SchemaError> {
    if node.as_str().is_some() || node.entries().is_empty() {
        return pico(node, outside);
    }
    let mut object = node.object();
    let kind = object
        .get("type")
        .and_then(Tree::as_str)
        .unwrap_or_default();
    if SCALARS.contains(&kind) || matches!(kind, "object" | "array") {
        return Ok(Tree::Object(object));
    }
    if matches!(object.get("properties"), Some(Tree::Object(_))) {
        object.insert("type".into(), "object".into());
        return Ok(Tree::Object(object));
    }
    pico(node, outside)
}

fn pico(node: &YamlNode, outside: &dyn FileEnvironment) -> Result<Tree, SchemaError> {
    match &node.data {
        YamlData::Scalar(Tree::String(text)) => named(text, node.at, outside),
        YamlData::Map(entries) => object(entries, outside),
        _ => {
            let message = format!(
                "a schema is a type such as `string` or an object of properties, not {}",
                node.kind()
            );
            Err((node.at, message))
        }
    }
}

/// Parses `type, description`, or the name of an external schema.
fn named(text: &str, at: usize, outside: &dyn FileEnvironment) -> Result<Tree, SchemaError> {
    let (name, description) = described(text);
    let mut schema = match name {
        "any" => Tree::Object(Object::new()),
        name if SCALARS.contains(&name) => json!({ "type": name }),
        name => outside.schema(name).ok_or_else(|| unknown(name, at))?,
    };
    describe(&mut schema, description);
    Ok(schema)
}

fn unknown(name: &str, at: usize) -> SchemaError {
    let near = quillet_core::nearest(name, SCALARS);
    let hint = near.map_or_else(
        || {
            let types = SCALARS.join(", ");
            format!(
                "types are {types}; define others with --schema {name}=FILE, or \
                prompts.schemas in the settings"
            )
        },
        |near| format!("did you mean {near}?"),
    );
    (at, format!("unknown type or schema {name:?} ({hint})"))
}

/// Splits a text at its first comma into type and description.
fn described(text: &str) -> (&str, Option<&str>) {
    match text.split_once(',') {
        Some((name, description)) => (name, Some(description.trim_start_matches(' '))),
        None => (text, None),
    }
}

fn describe(schema: &mut Tree, description: Option<&str>) {
    let (Tree::Object(object), Some(text)) = (schema, description) else {
        return;
    };
    if !text.is_empty() {
        object.insert("description".into(), text.into());
    }
}

fn object(entries: &[YamlEntry], outside: &dyn FileEnvironment) -> Result<Tree, SchemaError> {
    let mut properties = Object::new();
    let mut required: Vec<Tree> = Vec::new();
    let mut others = Tree::Bool(false);
    for entry in entries {
        if entry.key == "(*)" {
            others = pico(&entry.value, outside)?;
            continue;
        }
        let (name, schema) = property(entry, outside)?;
        match name.strip_suffix('?') {
            Some(name) => properties.insert(name.into(), nullable(schema)),
            None => {
                required.push(name.into());
                properties.insert(name.into(), schema)
            }
        };
    }
    let mut schema = Object::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Tree::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), Tree::Array(required));
    }
    schema.insert("additionalProperties".into(), others);
    Ok(Tree::Object(schema))
}

/// Parses a property: its name, which may end with `?`, and its schema.
fn property<'e>(
    entry: &'e YamlEntry,
    outside: &dyn FileEnvironment,
) -> Result<(&'e str, Tree), SchemaError> {
    let Some((name, kind)) = entry.key.split_once('(') else {
        return Ok((&entry.key, pico(&entry.value, outside)?));
    };
    let (kind, description) = described(kind.strip_suffix(')').unwrap_or(kind));
    let mut schema = match kind {
        "array" => json!({"type": "array", "items": pico(&entry.value, outside)?}),
        "object" => pico(&entry.value, outside)?,
        "enum" => json!({"enum": values(&entry.value)?}),
        _ => {
            let message = format!(
                "{:?}: the word in parentheses must be array, object or enum, not {kind:?}",
                entry.key
            );
            return Err((entry.at, message));
        }
    };
    describe(&mut schema, description);
    Ok((name, schema))
}

fn values(node: &YamlNode) -> Result<Tree, SchemaError> {
    match &node.data {
        YamlData::List(_) => Ok(node.tree()),
        _ => Err((
            node.at,
            format!("an enum needs a list, not {}", node.kind()),
        )),
    }
}

/// Extends a schema to accept `null`, as every optional property does.
fn nullable(mut schema: Tree) -> Tree {
    // An enum lists its values, so `null` must be one of them.
    if let Some(Tree::Array(values)) = schema.get_mut("enum") {
        if !values.contains(&Tree::Null) {
            values.push(Tree::Null);
        }
    } else if let Some(kind) = schema.get_mut("type").filter(|kind| kind.is_string()) {
        *kind = json!([kind.take(), "null"]);
    }
    schema
}
