//! The prompts of `benches/formats/prompts.py`, compiled and rendered in every
//! format that has a template for them.

#[path = "../whole/mod.rs"]
mod whole;

use std::sync::Arc;

use quillet_core::{Value, json};
use quillet_template::{CompileOptions, CompiledTemplate, TemplateFactory, TemplateSource};
use whole::execute;

/// Passes every format and prompt to `measure`, with one function that compiles and one that
/// renders.
pub(crate) fn each(measure: impl Fn(&str, &str, &dyn Fn(), &dyn Fn())) {
    let Some(path) = std::env::args().skip(1).find(|arg| !arg.starts_with('-')) else {
        eprintln!("usage: formats PROMPTS.json (benches/run-formats makes that file)");
        return;
    };
    let text = std::fs::read_to_string(path).expect("the prompts can be read");
    let prompts = json::parse(&text).expect("the prompts are JSON");
    let Value::List(prompts) = prompts else {
        panic!("the prompts are a list");
    };
    let factory = TemplateFactory::standard();
    for format in factory.formats() {
        for prompt in prompts.iter() {
            if let Some(template) = text_at(prompt, &["templates", format.name()]) {
                one(&factory, format.name(), template, prompt, &measure);
            }
        }
    }
}

fn text_at<'a>(prompt: &'a Value, path: &[&str]) -> Option<&'a str> {
    prompt.get_path(path).and_then(Value::as_str)
}

fn one(
    factory: &TemplateFactory,
    format: &str,
    text: &str,
    prompt: &Value,
    measure: &impl Fn(&str, &str, &dyn Fn(), &dyn Fn()),
) {
    let name = text_at(prompt, &["name"]).expect("a prompt has a name");
    let expected = text_at(prompt, &["expected"]).expect("a prompt has an expected text");
    let data = prompt.get_path(&["data"]).and_then(Value::as_map);
    let data = data.expect("the data is an object");
    let template = compile(factory, format, text);
    let found = execute(&*template, data);
    assert_eq!(found, expected.as_bytes(), "{format} on {name}");
    let compile = || {
        std::hint::black_box(compile(factory, format, text));
    };
    let render = || {
        std::hint::black_box(execute(&*template, data));
    };
    measure(format, name, &compile, &render);
}

fn compile(factory: &TemplateFactory, format: &str, text: &str) -> Arc<dyn CompiledTemplate> {
    let sources = [TemplateSource::new("t", text)];
    let compiled = factory.compile(format, &sources, &CompileOptions::default());
    compiled.expect("the template compiles")
}
