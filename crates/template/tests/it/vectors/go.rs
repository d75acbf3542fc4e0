//! Vectors of Go's text/template, with and without Sprig.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::json::{NumberMode, parse_with};
use quillet_core::{Map, Value};
use quillet_template::format::go::GoFormat;
use quillet_template::{
    CompileLimits, CompileOptions, CompiledTemplate, Missing, NoFunctions, Render, RenderError,
    RenderLimits, TemplateFormat, TemplateSource, render,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::functions::FUNCTIONS;
use super::ranked::is_ranked;
use super::report::Outcome;

#[derive(Deserialize)]
struct File {
    datasets: BTreeMap<String, Box<RawValue>>,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    id: String,
    tier: String,
    templates: Vec<Text>,
    entry: String,
    dataset: Option<String>,
    data: Option<Box<RawValue>>,
    numbers: Option<String>,
    #[serde(default)]
    options: Vec<String>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Text {
    name: String,
    text: String,
}

#[derive(Deserialize)]
struct Expect {
    ok: bool,
    output: Option<String>,
    output_hex: Option<String>,
    stage: Option<String>,
    message: Option<String>,
    reason: Option<String>,
}

/// Result of a vector: its output, or the stage and reason of the failure.
#[derive(PartialEq, Eq)]
enum Given {
    Output(Vec<u8>),
    Failed {
        stage: String,
        reason: String,
        message: String,
    },
}

/// Name of a source that calls the template under test with data that is not an object, and the
/// variable with that data.
const ROOT: (&str, &str) = ("(root)", "data");

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let sprig = text.contains("TxtFuncMap");
    let format = format(sprig);
    let run = |vector: &Vector| {
        let mut outcome = outcome(&format, &file.datasets, vector)?;
        let mut texts = vector.templates.iter().map(|text| &text.text);
        outcome.ranked = sprig && texts.all(|text| is_ranked(text));
        Ok(outcome)
    };
    file.vectors.iter().map(run).collect()
}

fn format(sprig: bool) -> GoFormat {
    let format = GoFormat::new().strict_functions(true);
    if sprig {
        format.with_sprig()
    } else {
        format.with_functions(FUNCTIONS)
    }
}

fn outcome(
    format: &GoFormat,
    datasets: &BTreeMap<String, Box<RawValue>>,
    vector: &Vector,
) -> Result<Outcome, String> {
    let data = data(datasets, vector).map_err(|error| format!("{}: {error}", vector.id))?;
    let expected = expected(&vector.expect);
    let actual = evaluate(format, vector, data);
    Ok(Outcome {
        id: vector.id.clone(),
        tier: vector.tier.clone(),
        template: shown(vector),
        ranked: false,
        expected: expected.to_string(),
        actual: actual.to_string(),
        passed: same_class(&expected, &actual),
        texts: same_texts(&expected, &actual),
    })
}

fn shown(vector: &Vector) -> String {
    let texts = vector
        .templates
        .iter()
        .map(|text| format!("{:?}", text.text));
    texts.collect::<Vec<_>>().join(" ")
}

fn data(datasets: &BTreeMap<String, Box<RawValue>>, vector: &Vector) -> Result<Value, String> {
    let named = vector.dataset.as_ref().and_then(|name| datasets.get(name));
    let Some(raw) = vector.data.as_ref().or(named) else {
        return Ok(Value::Null);
    };
    let numbers = match vector.numbers.as_deref() {
        Some("int") => NumberMode::Exact,
        _ => NumberMode::Float,
    };
    parse_with(raw.get(), numbers).map_err(|error| error.to_string())
}

fn expected(expect: &Expect) -> Given {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    if expect.ok {
        return Given::Output(match &expect.output_hex {
            Some(hex) => bytes(hex),
            None => text(&expect.output).into_bytes(),
        });
    }
    Given::Failed {
        stage: text(&expect.stage),
        reason: text(&expect.reason),
        message: text(&expect.message),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let byte = |pair: &[u32]| pair.iter().fold(0, |byte, digit| byte * 16 + *digit as u8);
    digits.chunks(2).map(byte).collect()
}

fn evaluate(format: &GoFormat, vector: &Vector, data: Value) -> Given {
    let mut sources: Vec<TemplateSource<'_>> = vector
        .templates
        .iter()
        .map(|text| TemplateSource::new(&text.name, &text.text))
        .collect();
    let root = format!("{{{{template {:?} .{}}}}}", vector.entry, ROOT.1);
    let (entry, variables) = match data {
        Value::Map(map) => (vector.entry.as_str(), map),
        other => {
            sources.push(TemplateSource::library(ROOT.0, &root));
            (ROOT.0, [(ROOT.1, other)].into_iter().collect())
        }
    };
    let options = CompileOptions {
        missing: missing(&vector.options),
        // One vector nests blocks more deeply than the default limit allows.
        limits: CompileLimits {
            nesting: 1000,
            ..CompileLimits::default()
        },
        ..CompileOptions::default()
    };
    match format.compile(&sources, &options) {
        Ok(template) => execute(&template, entry, &variables),
        Err(error) => Given::Failed {
            stage: "parse".to_owned(),
            reason: parse_reason(&error.message),
            message: error.message,
        },
    }
}

/// Converts Go's options. As in Go, the last option of a kind wins.
fn missing(options: &[String]) -> Missing {
    let mut missing = Missing::Default;
    for option in options {
        match option.as_str() {
            "missingkey=error" => missing = Missing::Strict,
            "missingkey=zero" => missing = Missing::Zero,
            "missingkey=default" | "missingkey=invalid" => missing = Missing::Default,
            _ => {}
        }
    }
    missing
}

/// Returns the message after `template: NAME:LINE: `.
fn parse_reason(message: &str) -> String {
    message
        .splitn(4, ':')
        .nth(3)
        .unwrap_or(message)
        .trim_start()
        .to_owned()
}

fn execute(template: &Arc<dyn CompiledTemplate>, entry: &str, variables: &Map) -> Given {
    let limits = RenderLimits {
        time: std::time::Duration::from_secs(60),
        // This is Go's own limit on the depth of templates.
        nesting: 100_000,
        ..RenderLimits::default()
    };
    let rendered = render(&Render {
        template: template.as_ref(),
        entries: &[entry],
        variables,
        functions: &NoFunctions,
        limits: &limits,
    })
    .now_or_never();
    match rendered {
        Some(Ok(rendered)) => Given::Output(rendered.into_bytes().pop().unwrap_or_default()),
        Some(Err(error)) => failed(*error),
        None => Given::Failed {
            stage: "exec".to_owned(),
            reason: "it waits".to_owned(),
            message: "it waits".to_owned(),
        },
    }
}

fn failed(error: RenderError) -> Given {
    Given::Failed {
        stage: "exec".to_owned(),
        reason: error.reason,
        message: error.message,
    }
}

fn same_class(expected: &Given, actual: &Given) -> bool {
    match (expected, actual) {
        (Given::Output(expected), Given::Output(actual)) => expected == actual,
        (
            Given::Failed {
                stage: expected, ..
            },
            Given::Failed { stage: actual, .. },
        ) => expected == actual,
        _ => false,
    }
}

fn same_texts(expected: &Given, actual: &Given) -> Option<(bool, bool)> {
    let Given::Failed {
        reason, message, ..
    } = expected
    else {
        return None;
    };
    Some(match actual {
        Given::Failed {
            reason: r,
            message: m,
            ..
        } => (reason == r, message == m),
        Given::Output(_) => (false, false),
    })
}

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Given::Output(bytes) => write!(f, "{:?}", String::from_utf8_lossy(bytes)),
            Given::Failed { stage, message, .. } => write!(f, "{stage} error: {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_options_that_set_the_same_the_last_one_counts() {
        let cases: [(&[&str], Missing); 5] = [
            (&[], Missing::Default),
            (&["missingkey=error"], Missing::Strict),
            (&["missingkey=error", "missingkey=zero"], Missing::Zero),
            (&["missingkey=zero", "missingkey=error"], Missing::Strict),
            (
                &["missingkey=error", "missingkey=default"],
                Missing::Default,
            ),
        ];
        for (options, expected) in cases {
            let options: Vec<String> = options.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(missing(&options), expected, "{options:?}");
        }
    }
}
