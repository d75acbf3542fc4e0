//! Conversion of templates: tables of what converts into what and what is
//! refused, and random trees through every format and back.

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

/// Reads and writes, or says why not, one reason a line.
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

/// A tree as text, or everything that is refused.
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

/// A text as a tree.
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

/// What a template prints.
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
