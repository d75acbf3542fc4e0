//! Conversion of templates: tables of conversions and rejections, and round trips of random trees
//! through every format.

mod properties;
mod table;
mod trees;

use quillet_core::{Map, Value, json};
use quillet_template::convert::{
    ConvertFindings, ConvertOptions, ConvertedTemplate, Language, Nodes, VariableType, convert,
    read, write,
};
use quillet_template::{
    NoFunctions, Render, RenderLimits, TemplateFactory, TemplateSource, render,
};

/// Converts a template and returns its text, or the reasons for the rejection, one per line.
fn converted(text: &str, from: Language, to: Language, options: &ConvertOptions) -> String {
    let source = TemplateSource::new("t", text);
    match convert(&source, from, to, options) {
        Ok(ConvertedTemplate { text, notes }) => {
            let notes = notes.iter().map(|note| format!("\nnote {note}"));
            text + &notes.collect::<String>()
        }
        Err(found) => {
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            format!("! {}", found.join("\n! "))
        }
    }
}

/// Writes a tree in a format. The error is the first rejection.
fn written(language: Language, nodes: &Nodes, shapes: &VariableType) -> Result<String, String> {
    let mut findings = ConvertFindings::new("tree", "");
    let text = write(language, nodes, shapes, &mut findings);
    if !findings.refused() {
        Ok(text)
    } else {
        Err(findings
            .into_sorted()
            .first()
            .map(ToString::to_string)
            .unwrap_or_default())
    }
}

/// Parses a text into a tree.
fn tree(language: Language, text: &str, options: &ConvertOptions) -> Result<Nodes, String> {
    let mut findings = ConvertFindings::new("t", text);
    let nodes = read(
        language,
        &TemplateSource::new("t", text),
        options,
        &mut findings,
    );
    let nodes = nodes.map_err(|found| format!("{found:?}"))?;
    if !findings.refused() {
        Ok(nodes)
    } else {
        Err(format!("{:?}", findings.into_sorted()))
    }
}

/// Returns the output of a template.
fn printed(language: Language, text: &str, variables: &Map) -> Result<String, String> {
    let factory = TemplateFactory::standard();
    let options = quillet_template::CompileOptions {
        missing: quillet_template::Missing::Strict,
        ..Default::default()
    };
    let template = factory
        .compile(language.name(), &[TemplateSource::new("t", text)], &options)
        .map_err(|error| format!("{error}"))?;
    let limits = RenderLimits {
        time: std::time::Duration::from_secs(20),
        ..RenderLimits::default()
    };
    let rendered = futures_util::FutureExt::now_or_never(render(&Render {
        template: &*template,
        entries: &["t"],
        variables,
        functions: &NoFunctions,
        limits: &limits,
    }));
    match rendered {
        Some(Ok(rendered)) => Ok(rendered.into_text()),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("the render waits".into()),
    }
}

fn object(text: &str) -> Map {
    match json::parse(text) {
        Ok(Value::Map(map)) => map,
        other => panic!("{other:?} is no object"),
    }
}
