//! Vectors of Python's format strings, each also checked against LangChain's result.

use quillet_core::Value;
use quillet_template::format::fstring::FStringFormat;
use quillet_template::{CompileOptions, NoFunctions, TemplateFormat, TemplateSource};

use super::file::{self, Vector};
use super::report::Outcome;

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    let mut outcomes = file::run(text, evaluate)?;
    let verdicts = file::run(text, verdict)?;
    outcomes.extend(verdicts.into_iter().map(as_verdict));
    Ok(outcomes)
}

fn evaluate(vector: &Vector<'_>) -> Result<String, String> {
    let data = vector.data();
    let variables = data.as_map().cloned().unwrap_or_default();
    let sources = [TemplateSource::new("t", vector.text("template"))];
    let format = FStringFormat::new();
    Ok(file::rendered(&format, &sources, &variables, &NoFunctions)?.text(0))
}

/// Checks that the strict preset accepts a template exactly if LangChain does.
fn verdict(vector: &Vector<'_>) -> Result<String, String> {
    let wanted = vector.get(&["langchain", "valid"]) == Some(&Value::Bool(true));
    let sources = [TemplateSource::new("t", vector.text("template"))];
    let compiled = FStringFormat::strict().compile(&sources, &CompileOptions::default());
    match (wanted, compiled) {
        (true, Ok(_)) | (false, Err(_)) => Ok(String::new()),
        (true, Err(error)) => Err(error.message),
        (false, Ok(_)) => Err("LangChain refuses it".to_owned()),
    }
}

/// Converts the outcome of [`verdict`] to a second outcome of the same vector.
fn as_verdict(outcome: Outcome) -> Outcome {
    let agrees = !outcome.actual.starts_with("error");
    Outcome {
        id: format!("{}-langchain", outcome.id),
        tier: "langchain".to_owned(),
        expected: "LangChain's verdict".to_owned(),
        passed: agrees,
        ..outcome
    }
}
