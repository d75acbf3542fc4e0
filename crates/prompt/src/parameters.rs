//! Parameters of a prompt. Three notations are normalised to one JSON Schema.
//!
//! The notations are a list of `{name, type, default, description}`, a JSON Schema object, and a
//! map from names to `{type, description}`. Definitions written for ai-prompt-shell use all three.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use quillet_core::{Map, MapTable, Value};
use quillet_schema::{InvalidSchemaError, Rules, SchemaDraft, SchemaViolation, Validator};
use serde_json::{Map as Object, Value as Tree, json};

use crate::error::VariableError;

/// The parameters of a prompt, normalised to one JSON Schema.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    schema: Option<Arc<ParameterSchema>>,
}

#[derive(Debug)]
struct ParameterSchema {
    /// JSON text, because trees and validators are many times larger and most prompts are rarely
    /// used.
    text: Box<str>,
    /// JSON text with the values of absent optional variables, so that `{{if .variables.x}}` is
    /// valid in a strict template.
    presets: Box<str>,
}

/// Cached validator of the parameters that were checked last.
#[derive(Debug, Default)]
pub(crate) struct Checks(ArcSwapOption<CachedValidator>);

#[derive(Debug)]
struct CachedValidator {
    of: Arc<ParameterSchema>,
    /// `None` if the validator cannot be built. Parsing the definition has already reported that
    /// error.
    validator: Option<Validator>,
    presets: Vec<(Arc<str>, Value)>,
}

impl Parameters {
    /// Parses a declaration in any of the three notations. If `declared` is null or empty,
    /// variables are not validated.
    ///
    /// # Errors
    /// The declaration is invalid.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::Parameters;
    /// use serde_json::json;
    ///
    /// let list = json!([{"name": "n", "type": "int", "required": true}]);
    /// let schema = Parameters::parse(&list)?.schema().unwrap();
    /// assert_eq!(schema["properties"]["n"]["type"], "integer");
    /// assert_eq!(schema["required"], json!(["n"]));
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(declared: &Tree) -> Result<Self, String> {
        let (tree, presets) = match declared {
            Tree::Null => return Ok(Self::default()),
            Tree::Array(items) if items.is_empty() => return Ok(Self::default()),
            Tree::Object(object) if object.is_empty() => return Ok(Self::default()),
            Tree::Array(items) => from_list(items)?,
            Tree::Object(object) if is_schema(object) => from_schema(object),
            Tree::Object(object) => from_map(object)?,
            _ => return Err("parameters must be a list, a JSON Schema or a map of names".into()),
        };
        Self::of_schema(&tree, presets)
    }

    /// Creates parameters from a JSON Schema and the values of absent variables.
    ///
    /// # Errors
    /// The schema is invalid.
    pub(crate) fn of_schema(tree: &Tree, presets: Vec<(Arc<str>, Value)>) -> Result<Self, String> {
        // The validator is built only to check the schema. Renders build their own validator.
        validator(tree).map_err(|error| format!("parameters are not a JSON Schema: {error}"))?;
        let preset = |(name, value): (Arc<str>, Value)| (name.to_string(), Tree::from(&value));
        let presets: Object<String, Tree> = presets.into_iter().map(preset).collect();
        Ok(Parameters {
            schema: Some(Arc::new(ParameterSchema {
                text: tree.to_string().into(),
                presets: Tree::Object(presets).to_string().into(),
            })),
        })
    }

    /// Returns the JSON Schema, if parameters are declared.
    #[must_use]
    pub fn schema(&self) -> Option<Tree> {
        Some(self.schema.as_deref()?.tree())
    }

    /// Returns the values of absent variables, in order.
    pub(crate) fn presets(&self) -> Vec<(Arc<str>, Value)> {
        self.schema
            .as_deref()
            .map(ParameterSchema::presets)
            .unwrap_or_default()
    }

    /// Adds defaults to the variables of a request and validates the result.
    ///
    /// # Errors
    /// Returns an error for each invalid variable.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::{Map, Value};
    /// use quillet_prompt::Parameters;
    /// use serde_json::json;
    ///
    /// let parameters = Parameters::parse(&json!({"n": {"type": "integer", "default": 3}}))?;
    /// let bound = parameters.bind(&Map::default()).unwrap();
    /// assert_eq!(bound.get("n"), Some(&Value::Int(3)));
    ///
    /// let problems = parameters.bind(&Map::from([("n", "three")])).unwrap_err();
    /// assert_eq!(problems[0].path, "variables.n");
    /// # Ok::<(), String>(())
    /// ```
    pub fn bind(&self, variables: &Map) -> Result<Map, Vec<VariableError>> {
        self.bind_with(&Checks::default(), variables)
    }

    /// Like [`Parameters::bind`], but uses a cached validator.
    pub(crate) fn bind_with(
        &self,
        checks: &Checks,
        variables: &Map,
    ) -> Result<Map, Vec<VariableError>> {
        let Some(schema) = &self.schema else {
            return Ok(variables.clone());
        };
        let ready = checks.ready(schema);
        let problems = ready.problems(variables);
        if !problems.is_empty() {
            return Err(problems);
        }
        let absent = |(name, _): &&(Arc<str>, Value)| variables.get(name).is_none();
        // Usually nothing is missing, and the map can be shared instead of copied.
        if !ready.presets.iter().any(|preset| absent(&preset)) {
            return Ok(variables.clone());
        }
        let mut table: MapTable = variables.to_table();
        for (name, value) in ready.presets.iter().filter(absent) {
            table.insert(name.clone(), value.clone());
        }
        Ok(Map::new(table))
    }
}

// Both texts were serialised from valid trees, so parsing them cannot fail.
impl ParameterSchema {
    fn tree(&self) -> Tree {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    fn presets(&self) -> Vec<(Arc<str>, Value)> {
        let presets: Object<String, Tree> = serde_json::from_str(&self.presets).unwrap_or_default();
        let preset = |(name, value): (String, Tree)| (Arc::from(name), Value::from(value));
        presets.into_iter().map(preset).collect()
    }
}

impl Checks {
    fn ready(&self, schema: &Arc<ParameterSchema>) -> Arc<CachedValidator> {
        if let Some(ready) = &*self.0.load()
            // The last check may have used another version of the prompt.
            && Arc::ptr_eq(&ready.of, schema)
        {
            return ready.clone();
        }
        let ready = Arc::new(CachedValidator {
            of: schema.clone(),
            validator: validator(&schema.tree()).ok(),
            presets: schema.presets(),
        });
        // Concurrent renders may each build a validator. All of these validators are equal.
        self.0.store(Some(ready.clone()));
        ready
    }
}

impl CachedValidator {
    fn problems(&self, variables: &Map) -> Vec<VariableError> {
        let given = Tree::from(&Value::Map(variables.clone()));
        let findings = self
            .validator
            .iter()
            .flat_map(|it| it.findings(&given, usize::MAX));
        findings.map(problem).collect()
    }
}

fn validator(schema: &Tree) -> Result<Validator, InvalidSchemaError> {
    let rules = Rules {
        draft: SchemaDraft::Seven,
        ..Rules::default()
    };
    Validator::new(schema, rules)
}

fn problem(finding: SchemaViolation) -> VariableError {
    VariableError {
        path: format!("variables{}", finding.pointer.replace('/', ".")),
        message: finding.message,
    }
}

/// Whether an object is a JSON Schema. It is one if it has a keyword that cannot be a parameter's
/// description: an object `properties`, or `type: "object"`.
fn is_schema(object: &Object<String, Tree>) -> bool {
    object.get("properties").is_some_and(Tree::is_object)
        || object.get("type").and_then(Tree::as_str) == Some("object")
        || object.contains_key("$schema")
}

type NormalisedSchema = (Tree, Vec<(Arc<str>, Value)>);

fn from_schema(object: &Object<String, Tree>) -> NormalisedSchema {
    let required: Vec<&str> = object
        .get("required")
        .and_then(Tree::as_array)
        .into_iter()
        .flatten()
        .filter_map(Tree::as_str)
        .collect();
    let properties = object.get("properties").and_then(Tree::as_object);
    let presets = properties
        .into_iter()
        .flatten()
        .filter(|(name, _)| !required.contains(&name.as_str()))
        .map(|(name, property)| (Arc::from(name.as_str()), default_of(property)))
        .collect();
    (Tree::Object(object.clone()), presets)
}

fn default_of(property: &Tree) -> Value {
    property
        .get("default")
        .cloned()
        .map_or(Value::Null, Value::from)
}

fn from_list(items: &[Tree]) -> Result<NormalisedSchema, String> {
    let named = |(index, item): (usize, &Tree)| {
        let name = item.get("name").and_then(Tree::as_str);
        let name = name.ok_or_else(|| format!("parameters[{index}] has no name"))?;
        Ok((name.to_owned(), item.clone()))
    };
    let pairs: Result<Vec<_>, String> = items.iter().enumerate().map(named).collect();
    from_pairs(pairs?)
}

fn from_map(object: &Object<String, Tree>) -> Result<NormalisedSchema, String> {
    from_pairs(
        object
            .iter()
            .map(|(name, item)| (name.clone(), item.clone()))
            .collect(),
    )
}

/// Builds a schema from named parameters. An explicit `required` applies first. Otherwise a
/// parameter with a default is optional, and any other is required only if the template uses it.
fn from_pairs(pairs: Vec<(String, Tree)>) -> Result<NormalisedSchema, String> {
    let (mut properties, mut required, mut presets) = (Object::new(), Vec::new(), Vec::new());
    for (name, item) in pairs {
        let Tree::Object(mut item) = item else {
            return Err(format!(
                "parameter {name} must be an object such as {{\"type\": \"string\"}}"
            ));
        };
        item.remove("name");
        let says = item.remove("required").as_ref().and_then(Tree::as_bool);
        if says == Some(true) {
            required.push(Tree::from(name.clone()));
        } else if says == Some(false) || item.contains_key("default") {
            let default = item
                .get("default")
                .cloned()
                .map_or(Value::Null, Value::from);
            presets.push((Arc::from(name.as_str()), default));
        }
        if let Some(kind) = item.get("type").and_then(Tree::as_str) {
            let kind = json_type(kind).ok_or_else(|| {
                format!("parameter {name} has the unknown type {kind:?}; JSON Schema has string, integer, number, boolean, array, object, null")
            })?;
            match kind {
                "any" => item.remove("type"),
                kind => item.insert("type".into(), Tree::from(kind)),
            };
        }
        properties.insert(name, Tree::Object(item));
    }
    let tree = json!({"type": "object", "properties": properties, "required": required});
    Ok((tree, presets))
}

/// Maps common type names to JSON Schema types.
fn json_type(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "string" | "str" | "text" => "string",
        "integer" | "int" | "int64" | "long" => "integer",
        "number" | "float" | "float64" | "double" => "number",
        "boolean" | "bool" => "boolean",
        "array" | "list" => "array",
        "object" | "map" | "dict" | "json" => "object",
        "null" => "null",
        "any" | "" => "any",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn three_forms_mean_the_same() {
        let forms = [
            json!([{"name": "n", "type": "int", "default": 3}, {"name": "s", "type": "string", "required": true}]),
            json!({"type": "object", "properties": {"n": {"type": "integer", "default": 3}, "s": {"type": "string"}}, "required": ["s"]}),
            json!({"n": {"type": "integer", "default": 3}, "s": {"type": "string", "required": true}}),
        ];
        for form in forms {
            let parameters = Parameters::parse(&form).unwrap();
            let bound = parameters.bind(&map(r#"{"s":"x"}"#)).unwrap();
            assert_eq!(bound.get("n"), Some(&Value::Int(3)), "{form}");
            let problems = parameters.bind(&map(r#"{"n":"three"}"#)).unwrap_err();
            assert_eq!(problems.len(), 2, "{problems:?}");
            assert!(problems.iter().any(|p| p.path == "variables.n"));
        }
    }

    #[test]
    fn a_parameter_that_says_nothing_is_neither_required_nor_preset() {
        let parameters = Parameters::parse(&json!([{"name": "code", "type": "string"}])).unwrap();
        assert!(parameters.bind(&Map::default()).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_declaration_is_refused() {
        for broken in [
            json!("x"),
            json!([{"type": "string"}]),
            json!({"n": 1}),
            json!([{"name": "n", "type": "strnig"}]),
        ] {
            assert!(Parameters::parse(&broken).is_err(), "{broken}");
        }
    }
}
