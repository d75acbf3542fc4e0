//! Templates that try to break the engine, from `conformance/hostile/`: each
//! ends as the file says, and a harmless template renders afterwards. Time and
//! memory themselves are measured by the benches.

use std::path::Path;

use futures_util::FutureExt;
use quillet_core::{Map, Value, json};
use quillet_template::format::go::GoFormat;
use quillet_template::{
    CompileOptions, Limits, NoFunctions, Render, Source, TemplateFactory, render,
};

fn outcome(format: &str, template: &str, variables: &Map) -> Result<String, String> {
    let factory = TemplateFactory::new().with(GoFormat::new());
    let sources = [Source::new("t", template)];
    let compiled = factory.compile(format, &sources, &CompileOptions::default());
    let compiled = compiled.map_err(|error| error.message)?;
    let rendered = render(&Render {
        template: compiled.as_ref(),
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

/// A text, or one made of segments that are repeated.
fn text(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    let segments = value.at(&["segments"]).cloned().unwrap_or_default();
    let Value::List(segments) = segments else {
        return String::new();
    };
    let repeated = |segment: &Value| match segment {
        Value::List(pair) => match (&pair[0], &pair[1]) {
            (Value::Str(text), Value::Int(count)) => text.repeat(*count as usize),
            _ => String::new(),
        },
        _ => String::new(),
    };
    segments.iter().map(repeated).collect()
}

/// The data, in which `{"repeat": [value, n]}` stands for a long list.
fn data(value: &Value) -> Value {
    let Value::Map(map) = value else {
        return value.clone();
    };
    if let Some(Value::List(pair)) = map.get("repeat")
        && let Value::Int(count) = pair[1]
    {
        return vec![pair[0].clone(); count as usize].into();
    }
    let entries = map.iter().map(|(key, value)| (key.clone(), data(value)));
    Value::Map(entries.collect())
}

#[test]
fn hostile_templates_are_refused_or_bounded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/hostile");
    let lines = std::fs::read_to_string(path.join("templates_go.jsonl")).unwrap();
    for line in lines.lines() {
        let vector = json::parse(line).unwrap();
        let field = |name: &str| vector.at(&[name]).cloned().unwrap_or_default();
        let id = field("id");
        let variables = data(&field("data"));
        let result = outcome("go", &text(&field("template")), variables.as_map().unwrap());
        match field("expect").as_str().unwrap() {
            "refuse" => assert!(result.is_err(), "{id:?} was not refused"),
            "ok" => assert_eq!(result.as_deref().ok(), field("result").as_str(), "{id:?}"),
            _ => assert!(
                result.is_err() || result.unwrap().len() <= 8 << 20,
                "{id:?}"
            ),
        }
        assert_eq!(outcome("go", "{{1}}", &Map::default()), Ok("1".to_owned()));
    }
}
