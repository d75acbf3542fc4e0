//! `input` and `output` (seed 002, "定义输入与输出"; notes 31, 32 and 36).

use quillet_core::{Map, Value};
use quillet_yaml::{Data, Node};

use super::{Findings, meant};
use crate::syntax::Script;

/// Keys of an input's description.
const KEYS: [&str; 24] = [
    "default",
    "description",
    "enum",
    "example",
    "examples",
    "format",
    "hidden",
    "index",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "name",
    "order",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
    "value",
    "additionalProperties",
];

/// Types of inputs: JSON Schema's, and names that people write for them.
const TYPES: [&str; 14] = [
    "any", "array", "bool", "boolean", "date", "file", "float", "int", "integer", "list", "null",
    "number", "object", "string",
];

/// Names of the inputs that a front matter declares.
pub(super) fn input_names(config: &Map) -> Vec<String> {
    inputs(config).into_iter().map(|(name, _)| name).collect()
}

/// Inputs that a caller has to give: required, and without any default.
pub(super) fn required(config: &Map) -> Vec<(String, Option<i64>)> {
    let needs = |(name, spec): (String, Value)| {
        let has = |key: &str| spec.at(&[key]).is_some_and(|value| *value != Value::Null);
        let required = spec.at(&["required"]) == Some(&Value::Bool(true));
        let given = has("default")
            || has("value")
            || config.get(&name).is_some_and(|value| *value != Value::Null);
        let index = match spec.at(&["index"]) {
            Some(Value::Int(index)) => Some(*index),
            _ => None,
        };
        (required && !given).then_some((name, index))
    };
    inputs(config).into_iter().filter_map(needs).collect()
}

fn inputs(config: &Map) -> Vec<(String, Value)> {
    let of_map = |map: &Map| -> Vec<(String, Value)> {
        map.iter()
            .map(|(name, spec)| (name.to_string(), spec.clone()))
            .collect()
    };
    match config.get("input") {
        Some(Value::Map(map)) => of_map(map),
        Some(Value::List(items)) => {
            let item = |item: &Value| match item {
                Value::Str(name) => vec![(name.to_string(), Value::Null)],
                Value::Map(map) => of_map(map),
                _ => Vec::new(),
            };
            items.iter().flat_map(item).collect()
        }
        _ => Vec::new(),
    }
}

/// Checks both, as they are written in this script.
pub(super) fn check(script: &Script, findings: &mut Findings<'_>) {
    if let Some(input) = script.config.get("input") {
        input_node(input, findings);
    }
    if let Some(output) = script.config.get("output").filter(|node| !node.is_null()) {
        output_node(output, findings);
    }
}

fn input_node(node: &Node, findings: &mut Findings<'_>) {
    match &node.data {
        Data::Map(entries) => entries
            .iter()
            .for_each(|entry| spec(entry.name(), &entry.value, findings)),
        Data::List(items) => {
            for item in items {
                match (&item.data, item.as_str()) {
                    (Data::Map(entries), _) => entries
                        .iter()
                        .for_each(|entry| spec(entry.name(), &entry.value, findings)),
                    (_, Some(_)) => {}
                    _ => findings.error(
                        "script.input",
                        format!("an input is a name or an object, not {}", item.kind()),
                        item.span,
                        "",
                    ),
                }
            }
        }
        Data::Scalar(_) if node.is_null() => {}
        Data::Scalar(_) => {
            let why = format!("input is a list or an object, not {}", node.kind());
            findings.error(
                "script.input",
                why,
                node.span,
                "such as `- content: {required: true, index: 0}`",
            );
        }
    }
}

fn spec(name: &str, node: &Node, findings: &mut Findings<'_>) {
    for entry in node.entries().unwrap_or_default() {
        let key = entry.name();
        let wrong = match key {
            "required" | "hidden" => {
                !matches!(entry.value.value(), Value::Bool(_)) && !entry.value.is_null()
            }
            "index" => !matches!(entry.value.value(), Value::Int(0..)),
            _ => false,
        };
        if wrong {
            let wanted = if key == "index" {
                "a number from 0"
            } else {
                "true or false"
            };
            let why = format!(
                "{key} of the input {name:?} is {}: it is {wanted}",
                entry.value.kind()
            );
            findings.error("script.input", why, entry.value.span, "");
        }
        if !KEYS.contains(&key) && !key.starts_with("x-") {
            let near = meant(key, KEYS);
            if !near.is_empty() {
                findings.warning(
                    "script.input",
                    format!("{key:?} says nothing of an input"),
                    entry.key.span,
                    &near,
                );
            }
        }
    }
    let kind = node.get("type");
    if let Some((node, kind)) = kind.and_then(|node| Some((node, node.as_str()?)))
        && !TYPES.contains(&kind)
    {
        let why = format!("the input {name:?} has an unknown type {kind:?}");
        findings.error("script.input", why, node.span, &meant(kind, TYPES));
    }
}

/// `output` has to be a JSON Schema.
fn output_node(node: &Node, findings: &mut Findings<'_>) {
    if !matches!(node.data, Data::Map(_)) {
        let why = format!(
            "output is a JSON Schema and so an object, not {}",
            node.kind()
        );
        return findings.error(
            "script.output",
            why,
            node.span,
            "such as `output: {type: object, properties: {…}}`",
        );
    }
    let schema: Result<serde_json::Value, _> =
        serde_json::from_str(&quillet_core::json::to_string(&node.value()));
    let Ok(schema) = schema else {
        return;
    };
    if let Err(error) = jsonschema::validator_for(&schema) {
        let why = format!("output is no JSON Schema: {error}");
        findings.error("script.output", why, node.span, "");
    }
}
