//! Vectors of Semantic Kernel's Handlebars, with encoded output.

use quillet_core::Value;
use quillet_template::TemplateSource;
use quillet_template::format::handlebars::HandlebarsFormat;

use super::declared::Declared;
use super::file::{self, Vector};
use super::report::Outcome;

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    file::run(text, evaluate)
}

fn evaluate(vector: &Vector<'_>) -> Result<String, String> {
    let trusts = vector.get(&["config", "factory_allow_dangerously_set_content"]);
    let format = match trusts {
        Some(Value::Bool(true)) => HandlebarsFormat::semantic_kernel(),
        _ => HandlebarsFormat::semantic_kernel().encoded(),
    };
    let data = vector.data();
    let variables = data.as_map().cloned().unwrap_or_default();
    let functions = Declared::new(vector.shared("functions"), variables.clone(), "None");
    let sources = [TemplateSource::new("t", vector.text("template"))];
    Ok(file::rendered(&format, &sources, &variables, &functions)?.text(0))
}
