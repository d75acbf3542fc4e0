//! Checks that `schemas/script.schema.json` agrees with the table of keys and accepts the front
//! matter of every script that runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_schema::{Rules, Validator};
use quillet_script::answer::{AnswerFormat, ThinkingMode};
use quillet_script::editor::keys::{ConfigKey, KEYS};
use quillet_script::reader;
use quillet_script::syntax::ScriptSource;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn schema() -> Value {
    json(&root().join("schemas/script.schema.json"))
}

/// Collects the properties of a schema by path.
fn properties<'s>(schema: &'s Value, above: &str, found: &mut BTreeMap<String, &'s Value>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{above}{name}");
        properties(schema, &format!("{path}."), found);
        found.insert(path, schema);
    }
}

#[test]
fn the_schema_says_what_the_table_of_keys_says() {
    let schema = schema();
    let mut found = BTreeMap::new();
    properties(&schema, "", &mut found);
    found.remove("permissions.ai.call");
    let table: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
    assert!(table.is_sorted(), "{table:?}");
    assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), table);
    for key in KEYS {
        let schema = found[key.path];
        assert_eq!(schema["description"], key.doc, "{}", key.path);
        for value in key.values {
            let typed = match *value {
                "true" | "false" => Value::Bool(*value == "true"),
                text => text.into(),
            };
            assert!(validator(schema).accepts(&typed), "{}: {value}", key.path);
        }
        assert_eq!(choices(schema), expected(key), "{}", key.path);
    }
}

/// Returns the values that a schema allows.
fn choices(schema: &Value) -> Vec<&str> {
    let lists = [
        &schema["enum"],
        &schema["examples"],
        &schema["oneOf"][1]["enum"],
    ];
    lists
        .into_iter()
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn expected(key: &ConfigKey) -> Vec<&'static str> {
    let words = key.values.iter().copied();
    words
        .filter(|value| !matches!(*value, "true" | "false"))
        .collect()
}

#[test]
fn choices_are_those_that_the_engine_knows() {
    for key in KEYS {
        for value in expected(key) {
            let known = match key.path.rsplit('.').next().unwrap() {
                "shouldThink" | "mode" => ThinkingMode::parse(value).is_some(),
                "type" if key.path.contains("response_format") => {
                    value == "text" || AnswerFormat::parse(value).is_some()
                }
                _ => true,
            };
            assert!(known, "{}: {value}", key.path);
        }
    }
}

/// Returns all scripts in the example folders and in files of cases, except cases that must fail.
fn scripts() -> Vec<(String, String)> {
    let mut found = Vec::new();
    examples(&root().join("examples/scripts"), &mut found);
    assert!(found.len() >= 6, "{found:?}");
    let own = found.len();
    cases(&root().join("conformance/scripts"), &mut found);
    assert!(found.len() > own + 100, "{}", found.len());
    let published = root().join("../shared/vectors/ppe");
    if published.is_dir() {
        cases(&published, &mut found)
    } else {
        println!("the published cases are not there, and were left out")
    }
    found
}

fn examples(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        if path.is_dir() {
            examples(&path, found);
        } else if name.ends_with(".ai.yaml") {
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

fn cases(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let file = json(&path);
        let list = file.as_array().or_else(|| file["cases"].as_array());
        for case in list.into_iter().flatten() {
            let fails = case["expect"].get("error").is_some();
            for (name, text) in case["files"].as_object().into_iter().flatten() {
                if name.ends_with(".ai.yaml") && !fails {
                    found.push((format!("{}: {name}", case["id"]), text_of(text)));
                }
            }
        }
    }
}

fn text_of(text: &Value) -> String {
    match text.as_array() {
        Some(lines) => lines
            .iter()
            .filter_map(Value::as_str)
            .map(|line| format!("{line}\n"))
            .collect(),
        None => text.as_str().unwrap_or_default().to_owned(),
    }
}

fn validator(schema: &Value) -> Validator {
    Validator::new(schema, Rules::default()).unwrap()
}

/// Cases whose scripts run despite invalid settings.
const MISTAKEN: [&str; 2] = ["\"options-wrong-type\"", "\"think-unknown-mode\""];

#[test]
fn every_front_matter_that_runs_is_valid() {
    let schema = validator(&schema());
    let mut wrong = Vec::new();
    for (name, text) in scripts() {
        let source = ScriptSource {
            name: name.clone(),
            path: None,
            text: text.into(),
        };
        let config = Value::from(&reader::read(Arc::new(source)).script.config.value());
        for finding in schema.findings(&config, usize::MAX) {
            wrong.push(format!("{name}: {}: {}", finding.pointer, finding.message));
        }
    }
    let mistaken = |found: &String| MISTAKEN.iter().any(|id| found.starts_with(id));
    let (mistaken, wrong): (Vec<String>, Vec<String>) = wrong.into_iter().partition(mistaken);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(mistaken.len(), MISTAKEN.len(), "{mistaken:?}");
}

#[test]
fn mistakes_are_found() {
    let schema = validator(&schema());
    for wrong in [
        serde_json::json!({"response_format": {"type": "xml"}}),
        serde_json::json!({"parameters": {"temperature": 3}}),
        serde_json::json!({"shouldThink": "always"}),
        serde_json::json!({"forceJson": "yes"}),
        serde_json::json!({"extends": {"a": 1}}),
        serde_json::json!([]),
    ] {
        assert!(!schema.accepts(&wrong), "{wrong}");
    }
}
