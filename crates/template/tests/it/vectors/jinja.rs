//! Vectors of Jinja, as Hugging Face chat templates use it and plain.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use quillet_core::{Map, Value, json};
use quillet_template::format::jinja::JinjaFormat;
use quillet_template::{
    CompileOptions, Limits, NoFunctions, Render, Source, TemplateFormat, render,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::report::Outcome;

#[derive(Deserialize)]
struct File {
    datasets: BTreeMap<String, Box<RawValue>>,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    group: String,
    template: String,
    preset: String,
    dataset: Option<String>,
    data: Option<Box<RawValue>>,
    expected: Option<String>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
}

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let outcome = |vector: &Vector| outcome(&file.datasets, vector);
    file.vectors.iter().map(outcome).collect()
}

fn outcome(datasets: &BTreeMap<String, Box<RawValue>>, vector: &Vector) -> Result<Outcome, String> {
    let named = vector.dataset.as_ref().and_then(|name| datasets.get(name));
    let data = match vector.data.as_ref().or(named) {
        Some(raw) => json::parse(raw.get()).map_err(|error| error.to_string())?,
        None => Value::Null,
    };
    let variables = data.as_map().cloned().unwrap_or_default();
    let format = match vector.preset.as_str() {
        "hf" => JinjaFormat::hugging_face(),
        _ => JinjaFormat::plain(),
    };
    let actual = evaluate(&format, vector, &variables);
    let failure = vector.error.as_ref().map(|failure| failure.message.clone());
    Ok(Outcome {
        id: vector.name.clone(),
        tier: vector.group.clone(),
        template: format!("{:?}", vector.template),
        ranked: false,
        expected: match &vector.expected {
            Some(text) => format!("{text:?}"),
            None => format!("error: {}", failure.unwrap_or_default()),
        },
        passed: match (&vector.expected, &actual) {
            (Some(expected), Ok(actual)) => expected == actual,
            (None, Err(_)) => true,
            _ => false,
        },
        actual: match actual {
            Ok(text) => format!("{text:?}"),
            Err(message) => format!("error: {message}"),
        },
        texts: None,
    })
}

fn evaluate(format: &JinjaFormat, vector: &Vector, variables: &Map) -> Result<String, String> {
    let sources = [Source::new("t", &vector.template)];
    let template = format
        .compile(&sources, &CompileOptions::default())
        .map_err(|error| error.message)?;
    let rendered = render(&Render {
        template: template.as_ref(),
        entries: &["t"],
        variables,
        functions: &NoFunctions,
        limits: &Limits::default(),
    })
    .now_or_never();
    match rendered {
        Some(Ok(rendered)) => Ok(rendered.text(0)),
        Some(Err(error)) => Err(error.message),
        None => Err("it waits".to_owned()),
    }
}
