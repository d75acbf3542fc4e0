//! Vectors of Semantic Kernel's template language: the output of .NET and, in the tier `python`,
//! that of Python.

use quillet_core::{Map, Value};
use quillet_template::format::semantic_kernel::{Encoding, HostLanguage, SemanticKernelFormat};
use quillet_template::{CompileOptions, TemplateFormat, TemplateSource};
use serde_json::json;

use super::declared::Declared;
use super::file::{self, Vector};
use super::report::Outcome;

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    let mut outcomes = file::run(text, |vector| evaluate(vector, HostLanguage::DotNet))?;
    let python = of_python(text).map_err(|error| error.to_string())?;
    outcomes.extend(file::run(&python, |vector| {
        evaluate(vector, HostLanguage::Python)
    })?);
    Ok(outcomes)
}

/// Returns the file with Python's expected results.
fn of_python(text: &str) -> serde_json::Result<String> {
    let mut file: serde_json::Value = serde_json::from_str(text)?;
    for vector in file["vectors"].as_array_mut().into_iter().flatten() {
        vector["name"] = json!(format!("python-{}", vector["name"].as_str().unwrap_or("")));
        vector["group"] = json!("python");
        let python = vector["python"].take();
        let Some(python) = python.as_object() else {
            continue;
        };
        for key in ["expected", "error"] {
            vector[key] = python.get(key).cloned().unwrap_or_default();
        }
    }
    serde_json::to_string(&file)
}

fn evaluate(vector: &Vector<'_>, dialect: HostLanguage) -> Result<String, String> {
    let flag = |key| vector.get(&["config", key]) == Some(&Value::Bool(true));
    let format = SemanticKernelFormat::encoded(Encoding {
        dialect,
        allow_prompt: flag("allow_dangerously_set_content"),
        allow_factory: flag("factory_allow_dangerously_set_content"),
    });
    let options = CompileOptions {
        trusted: trusted(vector),
        ..CompileOptions::default()
    };
    let sources = [TemplateSource::new("t", vector.text("template"))];
    let compiled = format.compile(&sources, &options);
    let compiled = compiled.map_err(|error| error.message)?;
    let declared: Vec<String> = inputs(vector).iter().map(name).collect();
    let declared: Vec<&str> = declared.iter().map(String::as_str).collect();
    let found = SemanticKernelFormat::input_variables(compiled.references(), &declared);
    let found: Value = Value::from(found.into_iter().map(Value::from).collect::<Vec<_>>());
    if vector
        .get(&["input_variables"])
        .is_some_and(|wanted| *wanted != found)
    {
        return Ok(format!("input variables: {found:?}"));
    }
    let variables = with_defaults(vector);
    let null = if dialect == HostLanguage::Python {
        "None"
    } else {
        "null"
    };
    let functions = Declared::new(vector.shared("functions"), variables.clone(), null);
    Ok(file::evaluated(&*compiled, "t", &variables, &functions)?.text(0))
}

fn inputs(vector: &Vector<'_>) -> Vec<Map> {
    let Some(Value::List(inputs)) = vector.get(&["config", "input_variables"]) else {
        return Vec::new();
    };
    inputs
        .iter()
        .filter_map(|input| input.as_map().cloned())
        .collect()
}

fn name(input: &Map) -> String {
    let name = input.get("name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

fn trusted(vector: &Vector<'_>) -> Vec<String> {
    let allowed =
        |input: &Map| input.get("allow_dangerously_set_content") == Some(&Value::Bool(true));
    let inputs = inputs(vector);
    inputs
        .iter()
        .filter(|input| allowed(input))
        .map(name)
        .collect()
}

/// Returns the variables with the defaults that a Semantic Kernel function would add.
fn with_defaults(vector: &Vector<'_>) -> Map {
    let data = vector.data();
    let mut table = data.as_map().cloned().unwrap_or_default().to_table();
    for input in inputs(vector) {
        if let Some(default) = input.get("default") {
            table.entry(name(&input).into()).or_insert(default.clone());
        }
    }
    Map::new(table)
}
