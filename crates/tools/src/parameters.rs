//! Validates arguments against the schema of a definition. Reads the three forms in which authors
//! write schemas, applies defaults, and names the invalid argument in errors.

use std::sync::Arc;

use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::{Map, Value, nearest};
use quillet_schema::{
    InvalidSchemaError, Rules, SchemaDraft, SchemaViolation, Validator, ViolationKind,
};
use serde_json::{Map as Object, Value as Json, json};

use crate::reader::{DefinitionReader, ObjectReader};

/// The schema of a tool without parameters.
pub(crate) fn nothing() -> Json {
    json!({"type": "object", "properties": {}})
}

/// Parameter that holds the positional arguments of a tool without declared parameters.
pub(crate) const REST: &str = "arguments";

/// The schema of a tool without declared parameters: a list of positional arguments, as in
/// ai-prompt-shell, or any named ones.
pub(crate) fn undeclared() -> Json {
    let list = json!({"type": "array", "description": "The arguments in order; the tool declares none by name."});
    json!({"type": "object", "properties": {REST: list}})
}

/// Whether a definition declares no parameters. An empty list is a declaration.
pub(crate) fn says_nothing(part: ObjectReader<'_>, key: &str) -> bool {
    match part.get(key) {
        None => true,
        Some(Json::Object(fields)) => fields.is_empty(),
        Some(_) => false,
    }
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallArguments<'a> {
    Named(&'a Map),
    /// Positional arguments of a tool without declared parameters.
    InOrder(&'a [Value]),
}

/// Returns the positional arguments of a tool without declared parameters, if there are any.
///
/// # Errors
/// There are named arguments as well.
pub(crate) fn positional<'a>(
    tool: &str,
    arguments: &'a Map,
) -> Result<Option<&'a [Value]>, ToolError> {
    let Some(Value::List(list)) = arguments.get(REST) else {
        return Ok(None);
    };
    if arguments.len() > 1 {
        let message = format!("{tool}: arguments are given in order ({REST}) or by name, not both");
        return Err(ToolError::new(ToolErrorKind::Arguments, message));
    }
    Ok(Some(list.as_slice()))
}

/// Assigns names of the remote side to positional arguments.
///
/// # Errors
/// There are more arguments than names.
pub(crate) fn named<'a>(
    tool: &str,
    positional: &[Value],
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Map, ToolError> {
    let names: Vec<&str> = names.into_iter().collect();
    if positional.len() > names.len() {
        let message = format!(
            "{tool} takes at most {} arguments ({}), {} given",
            names.len(),
            names.join(", "),
            positional.len()
        );
        return Err(ToolError::new(ToolErrorKind::Arguments, message));
    }
    Ok(names.into_iter().zip(positional.iter().cloned()).collect())
}

/// Reads the schema in a field, if there is one. Authors write a JSON Schema, a list of `{name,
/// type, default, description, required}` as in ai-prompt-shell, or an object that maps names to
/// schemas. The last two are converted to a JSON Schema of an object.
pub(crate) fn schema(
    reader: &mut DefinitionReader<'_>,
    part: ObjectReader<'_>,
    key: &str,
) -> Option<Json> {
    match part.get(key)? {
        Json::Array(items) if items.is_empty() => None,
        Json::Array(items) => from_list(reader, &part.path(key), items),
        Json::Object(fields) if is_schema(fields) => checked(reader, &part.path(key), fields),
        Json::Object(fields) => Some(from_properties(fields)),
        _ => {
            reader.error(
                &part.path(key),
                "expected a JSON Schema or a list of parameters",
            );
            None
        }
    }
}

/// Whether an object is a schema, as opposed to a map from names to schemas.
fn is_schema(fields: &Object<String, Json>) -> bool {
    let keyword = [
        "$schema",
        "$ref",
        "properties",
        "allOf",
        "anyOf",
        "oneOf",
        "enum",
        "const",
        "items",
    ];
    fields.is_empty()
        || keyword.iter().any(|key| fields.contains_key(*key))
        // A parameter may be called `type`; its value is then an object.
        || fields.get("type").is_some_and(|kind| !kind.is_object())
        || !fields.values().all(Json::is_object)
}

fn checked(
    reader: &mut DefinitionReader<'_>,
    path: &[&str],
    fields: &Object<String, Json>,
) -> Option<Json> {
    let schema = Json::Object(fields.clone());
    match compile(&schema) {
        Ok(_) => Some(schema),
        Err(error) => {
            let inner = error.pointer.split('/').skip(1);
            let path: Vec<&str> = path.iter().copied().chain(inner).collect();
            let message = format!("not a JSON Schema: {}", brief(&error.message));
            reader.error(&path, message);
            None
        }
    }
}

fn from_properties(fields: &Object<String, Json>) -> Json {
    let properties = fields
        .iter()
        .map(|(name, property)| (name.clone(), without_required(property)));
    let required: Vec<&String> = fields
        .iter()
        .filter(|(_, property)| property["required"] == json!(true))
        .map(|(name, _)| name)
        .collect();
    json!({"type": "object", "properties": properties.collect::<Object<_, _>>(), "required": required})
}

fn from_list(reader: &mut DefinitionReader<'_>, path: &[&str], items: &[Json]) -> Option<Json> {
    let mut fields = Object::new();
    for (position, item) in items.iter().enumerate() {
        let position = position.to_string();
        let path: Vec<&str> = path.iter().copied().chain([position.as_str()]).collect();
        let Some(name) = item["name"].as_str() else {
            reader.error(&path, "each entry of the list is an object with a \"name\"");
            return None;
        };
        if fields.insert(name.to_owned(), without_name(item)).is_some() {
            reader.error(&path, format!("{name:?} is listed twice"));
            return None;
        }
    }
    Some(from_properties(&fields))
}

fn without_name(item: &Json) -> Json {
    let fields = item.as_object().into_iter().flatten();
    let kept = fields.filter(|(key, _)| *key != "name");
    Json::Object(
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

// Removes `required` from a parameter: JSON Schema has it as a list in the object, the other forms
// as a flag on each parameter.
fn without_required(property: &Json) -> Json {
    let mut property = property.clone();
    if let Some(fields) = property.as_object_mut()
        && fields.get("required").is_some_and(Json::is_boolean)
    {
        fields.remove("required");
    }
    property
}

/// Compiles a schema, as Draft-07 unless the schema selects another version.
pub(crate) fn compile(schema: &Json) -> Result<Validator, InvalidSchemaError> {
    let rules = Rules {
        draft: SchemaDraft::Seven,
        ..Rules::default()
    };
    Validator::new(schema, rules)
}

/// The compiled schema of a tool's arguments.
#[derive(Debug)]
pub(crate) struct Parameters {
    validator: Validator,
    names: Vec<String>,
    defaults: Vec<(Arc<str>, Value)>,
}

impl Parameters {
    pub(crate) fn compile(schema: &Json) -> Result<Self, String> {
        let validator = compile(schema).map_err(|error| brief(&error.message))?;
        let properties = schema.get("properties").and_then(Json::as_object);
        let default = |(name, property): (&String, &Json)| {
            let value = property.get("default")?.clone();
            Some((Arc::from(name.as_str()), Value::from(value)))
        };
        Ok(Parameters {
            validator,
            names: properties
                .into_iter()
                .flat_map(Object::keys)
                .cloned()
                .collect(),
            defaults: properties
                .into_iter()
                .flatten()
                .filter_map(default)
                .collect(),
        })
    }

    /// Applies defaults and validates the arguments.
    pub(crate) fn prepare(&self, tool: &str, arguments: Map) -> Result<Map, ToolError> {
        let arguments = self.with_defaults(arguments);
        let tree = Json::from(&Value::Map(arguments.clone()));
        let findings = self.validator.findings(&tree, 5);
        let errors: Vec<String> = findings
            .iter()
            .map(|finding| self.explain(finding, &tree))
            .collect();
        if errors.is_empty() {
            return Ok(arguments);
        }
        let message = format!("{tool}: {}", errors.join("; "));
        Err(ToolError::new(ToolErrorKind::Arguments, message))
    }

    fn with_defaults(&self, arguments: Map) -> Map {
        let missing = |(name, _): &&(Arc<str>, Value)| arguments.get(name).is_none();
        if !self.defaults.iter().any(|default| missing(&default)) {
            return arguments;
        }
        let mut table = arguments.to_table();
        for (name, value) in self.defaults.iter().filter(missing) {
            table.insert(name.clone(), value.clone());
        }
        Map::new(table)
    }

    fn explain(&self, finding: &SchemaViolation, arguments: &Json) -> String {
        let pointer = finding.pointer.as_str();
        let place = pointer.trim_start_matches('/').replace('/', ".");
        match &finding.kind {
            ViolationKind::Missing(name) => {
                let order = self.names.join(", ");
                match place.as_str() {
                    "" => format!("argument {name} is missing (arguments in order: {order})"),
                    place => format!("argument {place} has no field {name}"),
                }
            }
            ViolationKind::Unknown(unexpected) => self.unknown(unexpected),
            ViolationKind::Type => {
                let given = arguments.pointer(pointer).cloned().unwrap_or_default();
                let given = Value::from(given).kind();
                let message = brief(&finding.message);
                format!("argument {place}: {message} ({given} given)")
            }
            ViolationKind::Other => format!("argument {place}: {}", brief(&finding.message)),
        }
    }

    fn unknown(&self, unexpected: &[String]) -> String {
        let one = |name: &String| match nearest(name, self.names.iter().map(String::as_str)) {
            Some(known) => format!("unknown argument {name} (did you mean {known}?)"),
            None => format!(
                "unknown argument {name} (expected one of {})",
                self.names.join(", ")
            ),
        };
        unexpected.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// Shortens a validation error, because it may quote a whole document.
pub(crate) fn brief(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
