//! A render of a compiled template takes one allocation for each text that it
//! hands out, and none besides: nothing is parsed, named, copied or collected.
//!
//! A binary of its own: an allocator that counts moves what it could have
//! grown in place, which the tests that measure memory would see.

use futures_util::FutureExt;
use quillet_core::{Map, json};
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, TemplateFactory, TemplateSource, render,
};

/// What a template does: print texts, go through a list, decide.
const WHAT: [&str; 3] = ["print", "loop", "condition"];

/// How each format says so, and what is printed. Where it has no such thing it is left out.
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

/// What each of [`WHAT`] prints.
const EXPECTED: [&str; 3] = [
    "Hi Ann, Bob!",
    "<|user|>What is the weather?<|assistant|>Fine.<|user|>And tomorrow?<|assistant|>Wait and see.",
    "Ann",
];

/// Those of a format; `handlebars-html` writes what `handlebars` writes.
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
            // The first one makes the buffer that the others write into.
            assert_eq!(run(), EXPECTED[index], "{}", format.name());
            let found = allocation_counter::measure(|| drop(run()));
            if found.count_total != 1 {
                others.push((format.name(), WHAT[index], found.count_total));
            }
        }
    }
    assert_eq!(others, [], "formats that allocate more or less than once");
}
