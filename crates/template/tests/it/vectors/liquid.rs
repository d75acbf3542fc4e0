//! Vectors of Liquid, with the templates that they include.

use quillet_template::format::liquid::LiquidFormat;
use quillet_template::{NoFunctions, TemplateSource};

use super::file::{self, Vector};
use super::report::Outcome;

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    file::run(text, evaluate)
}

fn evaluate(vector: &Vector<'_>) -> Result<String, String> {
    let partials = vector.shared("partials");
    let partials = partials.iter().filter_map(|(name, text)| {
        let text = text.as_str()?;
        Some(TemplateSource::library(name, text))
    });
    // `include` cannot refer to this name.
    let main = TemplateSource::new("{main}", vector.text("template"));
    let sources: Vec<TemplateSource<'_>> = std::iter::once(main).chain(partials).collect();
    let variables = vector.data().as_map().cloned().unwrap_or_default();
    let format = LiquidFormat::new();
    Ok(file::rendered(&format, &sources, &variables, &NoFunctions)?.text(0))
}
