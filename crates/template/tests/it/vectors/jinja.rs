//! Vectors of Jinja, with the settings of Hugging Face and without settings.

use quillet_template::TemplateSource;
use quillet_template::format::jinja::JinjaFormat;

use super::declared::Declared;
use super::file::{self, Vector};
use super::report::Outcome;

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    file::run(text, evaluate)
}

fn evaluate(vector: &Vector<'_>) -> Result<String, String> {
    let format = match vector.text("preset") {
        "hf" => JinjaFormat::hugging_face(),
        _ => JinjaFormat::plain(),
    };
    let data = vector.data();
    let variables = data.as_map().cloned().unwrap_or_default();
    let functions = Declared::new(vector.shared("functions"), variables.clone(), "None");
    let sources = [TemplateSource::new("t", vector.text("template"))];
    Ok(file::rendered(&format, &sources, &variables, &functions)?.text(0))
}
