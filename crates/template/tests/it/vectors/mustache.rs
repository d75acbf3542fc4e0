//! Vectors of Mustache: those of mustache.js and of the specification.

use quillet_core::{Map, Value, json};
use quillet_template::format::mustache::MustacheFormat;
use quillet_template::{NoFunctions, TemplateSource};

use super::file::{self, Vector};
use super::report::Outcome;

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    file::run(text, evaluate)
}

fn evaluate(vector: &Vector<'_>) -> Result<String, String> {
    let data = vector.data();
    let data = data.as_map().cloned().unwrap_or_default();
    rendered(vector.text("template"), &vector.shared("partials"), &data)
}

fn rendered(template: &str, partials: &Map, variables: &Map) -> Result<String, String> {
    let partials = partials.iter().filter_map(|(name, text)| {
        let text = text.as_str()?;
        Some(TemplateSource::library(name, text))
    });
    // This name is invalid for a partial.
    let main = TemplateSource::new("{main}", template);
    let sources: Vec<TemplateSource<'_>> = std::iter::once(main).chain(partials).collect();
    let format = MustacheFormat::new().escape_html(true);
    Ok(file::rendered(&format, &sources, variables, &NoFunctions)?.text(0))
}

/// Runs the specification, without its optional modules, whose names begin with a tilde.
pub(super) fn run_specification(text: &str) -> Result<Vec<Outcome>, String> {
    let file = json::parse(text).map_err(|error| error.to_string())?;
    let suites = file.get_path(&["suites"]).and_then(Value::as_map);
    let suites = suites.ok_or("the file has no suites")?;
    let required = suites.iter().filter(|(name, _)| !name.starts_with('~'));
    let mut outcomes = Vec::new();
    for (suite, tests) in required {
        let Value::List(tests) = tests else {
            return Err(format!("{suite} has no tests"));
        };
        outcomes.extend(tests.iter().map(|test| specified(suite, test)));
    }
    Ok(outcomes)
}

fn specified(suite: &str, test: &Value) -> Outcome {
    let text = |key: &str| {
        test.get_path(&[key])
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let map = |key: &str| test.get_path(&[key]).and_then(Value::as_map).cloned();
    // Data that is not an object must be the value of `.`.
    let root = test.get_path(&["data"]).cloned().unwrap_or_default();
    let (template, data) = match &root {
        Value::Map(map) => (text("template").to_owned(), map.clone()),
        other => {
            // The value is wrapped in a list, so that a section does not iterate over data that is
            // a list.
            let root = Value::from(vec![other.clone()]);
            let template = format!("{{{{#root}}}}{}{{{{/root}}}}", text("template"));
            (template, [("root", root)].into_iter().collect())
        }
    };
    let actual = rendered(&template, &map("partials").unwrap_or_default(), &data);
    Outcome {
        id: format!("{suite}/{}", text("name")),
        tier: suite.to_owned(),
        template: format!("{template:?}"),
        ranked: false,
        expected: format!("{:?}", text("expected")),
        passed: actual.as_deref() == Ok(text("expected")),
        actual: format!("{actual:?}"),
        texts: None,
    }
}
