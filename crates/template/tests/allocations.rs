//! Rendering a compiled template takes one allocation per returned text and no others: nothing is
//! parsed, copied or collected.
//!
//! This is a separate test binary, because the counting allocator moves blocks that could grow in
//! place. That would distort the tests that measure memory.

use futures_util::FutureExt;
use quillet_core::{Map, json};
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, TemplateFactory, TemplateSource, render,
};

/// The tasks of the templates: print texts, run a loop, test a condition.
const WHAT: [&str; 3] = ["print", "loop", "condition"];

/// Templates of each format, in the order of [`WHAT`]. `None` if the language lacks the feature.
const TEMPLATES: &[(&str, [Option<&str>; 3])] = &[
    (
        "go",
        [
            Some("Hi {{.name}}, {{.user.name}}!"),
            Some("{{range .messages}}<|{{.role}}|>{{.content}}{{end}}"),
            Some("{{if .yes}}{{.name}}{{else}}no{{end}}{{if .no}}no{{end}}"),
        ],
    ),
    ("jinja", JINJA),
    ("jinja-plain", JINJA),
    (
        "semantic-kernel",
        [Some("Hi {{$name}}, {{ $first }}!"), None, None],
    ),
    ("semantic-kernel-handlebars", HANDLEBARS),
    ("semantic-kernel-jinja2", JINJA),
    ("handlebars", HANDLEBARS),
    (
        "mustache",
        [
            Some("Hi {{{name}}}, {{{user.name}}}!"),
            Some("{{#messages}}<|{{{role}}}|>{{{content}}}{{/messages}}"),
            Some("{{#yes}}{{{name}}}{{/yes}}{{^yes}}no{{/yes}}{{#no}}no{{/no}}"),
        ],
    ),
    ("f-string", [Some("Hi {name}, {first}!"), None, None]),
    ("f-string-strict", [Some("Hi {name}, {first}!"), None, None]),
    ("dotprompt", HANDLEBARS),
    ("liquid", LIQUID),
    ("semantic-kernel-liquid", LIQUID),
];

const LIQUID: [Option<&str>; 3] = [
    Some("Hi {{ name }}, {{ user.name }}!"),
    Some("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"),
    Some(
        "{% if yes and user.name == 'Bob' %}{{ name }}{% else %}no{% endif %}{% if no %}no{% endif %}",
    ),
];

const JINJA: [Option<&str>; 3] = [
    Some("Hi {{ name }}, {{ user.name }}!"),
    Some("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"),
    Some(
        "{% if yes and user.name == 'Bob' %}{{ name }}{% else %}no{% endif %}{% if no %}no{% endif %}",
    ),
];

const HANDLEBARS: [Option<&str>; 3] = [
    Some("Hi {{{name}}}, {{{user.name}}}!"),
    Some("{{#each messages}}<|{{{this.role}}}|>{{{content}}}{{/each}}"),
    Some("{{#if yes}}{{{name}}}{{else}}no{{/if}}{{#if no}}no{{/if}}"),
];

fn variables() -> Map {
    let text = r#"{"name":"Ann","first":"Bob","user":{"name":"Bob"},"yes":true,"no":false,"messages":[
        {"role":"user","content":"What is the weather?"},{"role":"assistant","content":"Fine."},
        {"role":"user","content":"And tomorrow?"},{"role":"assistant","content":"Wait and see."}]}"#;
    let value = json::parse(text).expect("it is JSON");
    value.as_map().cloned().expect("it is an object")
}

/// Expected output of each task in [`WHAT`].
const EXPECTED: [&str; 3] = [
    "Hi Ann, Bob!",
    "<|user|>What is the weather?<|assistant|>Fine.<|user|>And tomorrow?<|assistant|>Wait and see.",
    "Ann",
];

/// Returns the templates of a format. `handlebars-html` uses those of `handlebars`.
fn templates(format: &str) -> &'static [Option<&'static str>; 3] {
    let named = |wanted: &str| TEMPLATES.iter().find(|(name, _)| *name == wanted);
    let base = format.rsplit_once('-').map_or(format, |(base, _)| base);
    let found = named(format).or_else(|| named(base));
    let (_, templates) = found.unwrap_or_else(|| panic!("{format} has no templates here"));
    templates
}

#[test]
fn a_cached_template_renders_without_allocations_but_its_text() {
    let factory = TemplateFactory::standard();
    let variables = variables();
    let mut others = Vec::new();
    for format in factory.formats() {
        let templates = templates(format.name());
        for (index, text) in templates.iter().enumerate() {
            let Some(text) = text else { continue };
            let compiled = format.compile(
                &[TemplateSource::new("t", text)],
                &CompileOptions::default(),
            );
            let template = compiled.unwrap_or_else(|error| panic!("{}: {error}", format.name()));
            let limits = RenderLimits::default();
            let request = Render {
                template: &*template,
                entries: &["t"],
                variables: &variables,
                functions: &NoFunctions,
                limits: &limits,
            };
            let run = || {
                let rendered = render(&request).now_or_never();
                let rendered = rendered.expect("there is nothing to wait for");
                rendered.expect("it renders").into_text()
            };
            // The first render creates the buffer that later renders reuse.
            assert_eq!(run(), EXPECTED[index], "{}", format.name());
            let found = allocation_counter::measure(|| drop(run()));
            if found.count_total != 1 {
                others.push((format.name(), WHAT[index], found.count_total));
            }
        }
    }
    assert_eq!(others, [], "formats that allocate more or less than once");
}
