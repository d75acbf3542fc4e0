//! Renders Jinja templates. Each line of standard input is a JSON object with `template`, `preset`
//! (`hf` or `plain`) and `data`. Each line of the output is an object with `text` or `error`.
//!
//! `scripts/differential-jinja` compares this output with that of Python's jinja2.

use std::io::{self, BufRead, BufWriter, Write};

use futures_util::FutureExt;
use quillet_core::{Map, json};
use quillet_template::format::jinja::JinjaFormat;
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, TemplateFormat, TemplateSource, render,
};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Line {
    template: String,
    preset: String,
    data: Box<RawValue>,
}

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let answer = match answer(&line?) {
            Ok(text) => serde_json::json!({ "text": text }),
            Err(error) => serde_json::json!({ "error": error }),
        };
        writeln!(out, "{answer}")?;
    }
    out.flush()
}

fn answer(line: &str) -> Result<String, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let format = match line.preset.as_str() {
        "hf" => JinjaFormat::hugging_face(),
        _ => JinjaFormat::plain(),
    };
    let data = json::parse(line.data.get()).map_err(|error| error.to_string())?;
    let variables = data.as_map().cloned().unwrap_or_default();
    evaluate(&format, &line.template, &variables)
}

fn evaluate(format: &JinjaFormat, template: &str, variables: &Map) -> Result<String, String> {
    let sources = [TemplateSource::new("t", template)];
    let template = format
        .compile(&sources, &CompileOptions::default())
        .map_err(|error| error.message)?;
    let rendered = render(&Render {
        template: template.as_ref(),
        entries: &["t"],
        variables,
        functions: &NoFunctions,
        limits: &RenderLimits::default(),
    })
    .now_or_never();
    match rendered {
        Some(Ok(rendered)) => Ok(rendered.text(0)),
        Some(Err(error)) => Err(error.message),
        None => Err("it waits".to_owned()),
    }
}
