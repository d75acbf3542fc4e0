//! Renders Handlebars templates. Each line of standard input is a JSON object with `template`,
//! `partials`, `data` and the flags `escape` and `strict`. Each line of the output is an object
//! with `text` or `error`.
//!
//! `scripts/differential-handlebars` compares this output with that of handlebars.js.

use std::io::{self, BufRead, BufWriter, Write};

use futures_util::FutureExt;
use quillet_core::{Map, Value, ValueList, json};
use quillet_template::format::handlebars::{HandlebarsFormat, HelperResult};
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, TemplateFormat, TemplateSource, render,
};

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
    let line = json::parse(line).map_err(|error| error.to_string())?;
    let is = |flag: &str| line.get_path(&[flag]) == Some(&Value::Bool(true));
    let map = |key: &str| line.get_path(&[key]).and_then(Value::as_map).cloned();
    let format = with_helpers(
        HandlebarsFormat::new()
            .escape_html(is("escape"))
            .strict(is("strict")),
    );
    let template = line.get_path(&["template"]).and_then(Value::as_str);
    let partials = map("partials").unwrap_or_default();
    let partials = partials
        .iter()
        .filter_map(|(name, text)| Some(TemplateSource::library(name, text.as_str()?)));
    let mut sources = vec![TemplateSource::new("main", template.unwrap_or_default())];
    sources.extend(partials);
    evaluate(&format, &sources, &map("data").unwrap_or_default())
}

/// The helpers that the random templates call.
fn with_helpers(format: HandlebarsFormat) -> HandlebarsFormat {
    format
        .with_helper("concat", |call| {
            let mut all = String::new();
            for index in 0..call.count() {
                all.push_str(&call.text(index)?);
            }
            Ok(all.into())
        })
        .with_helper("list", |call| {
            let one = |index| call.argument(index).cloned().unwrap_or_default();
            Ok(Value::List((0..call.count()).map(one).collect::<ValueList>()).into())
        })
        .with_helper("wrap", |call| {
            call.write("<")?;
            call.body()?;
            call.write("|")?;
            call.otherwise()?;
            call.write(">")?;
            Ok(HelperResult::Written)
        })
}

fn evaluate(
    format: &HandlebarsFormat,
    sources: &[TemplateSource<'_>],
    variables: &Map,
) -> Result<String, String> {
    let template = format
        .compile(sources, &CompileOptions::default())
        .map_err(|error| error.message)?;
    let rendered = render(&Render {
        template: template.as_ref(),
        entries: &["main"],
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
