use std::path::Path;

use quillet_core::{Map, Severity};
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, TemplateFactory, TemplateSource, render,
};

use super::check_braces;
use super::syntax::TemplateDialect;

fn found(format: &str, text: &str) -> Vec<quillet_core::Diagnostic> {
    found_with(format, text, |name| name == "tool")
}

fn found_with(
    format: &str,
    text: &str,
    is_tool: fn(&str) -> bool,
) -> Vec<quillet_core::Diagnostic> {
    let factory = TemplateFactory::standard();
    let format = factory.format(format).expect("the format exists");
    let own = format.functions();
    check_braces(&**format, "t", text, &|name| {
        own.contains(&name) || is_tool(name)
    })
}

/// Format, template with one warning, its column, and the help text.
const DOUBTS: &[(&str, &str, usize, &str)] = &[
    // JSON in formats in which braces have a meaning.
    (
        "f-string",
        "A: {\"a\": 1}",
        4,
        "double the braces of plain text: {{\"a\": 1}}",
    ),
    (
        "f-string",
        "{\n \"n\": {name},\n \"o\": {}}",
        1,
        "{{\n \"n\": {name},\n \"o\": {{}}}}",
    ),
    (
        "f-string-strict",
        "{name} {\"a\": {\"b\": 1}}",
        8,
        "{{\"a\": {{\"b\": 1}}}}",
    ),
    ("f-string", "fn main() { go(); }", 11, "{{ go(); }}"),
    (
        "jinja",
        "{{\"a\": 1}}",
        1,
        "use single braces for plain text: {\"a\": 1}; to print two of them, write ",
    ),
    (
        "go",
        "{{\"a\": {{.x}}}}",
        1,
        "use single braces for plain text: {\"a\": {{.x}}}",
    ),
    (
        "handlebars",
        "{{ \"a\": 1 }}",
        1,
        "use single braces for plain text: { \"a\": 1 }",
    ),
    (
        "mustache",
        "{{'a': 1}}",
        1,
        "use single braces for plain text: {'a': 1}",
    ),
    (
        "semantic-kernel",
        "{{\"a\": 1}}",
        1,
        "use single braces for plain text: {\"a\": 1}",
    ),
    // Variables in the syntax of another format.
    (
        "jinja",
        "Hi {{ .user.name }}",
        4,
        "write {{ user.name }}, or set the format to go",
    ),
    (
        "jinja",
        "{{$x}}",
        1,
        "write {{ x }}, or set the format to semantic-kernel",
    ),
    (
        "go",
        "{{$x}}",
        1,
        "write {{.x}}, or set the format to semantic-kernel",
    ),
    (
        "go",
        "{{x}}",
        1,
        "write {{.x}}, or set the format to mustache",
    ),
    (
        "go",
        "Hi {name}!",
        4,
        "write {{.name}} for the variable, or set the format to f-string",
    ),
    ("go", "Hi ${name}!", 4, "write {{.name}} for the variable"),
    (
        "semantic-kernel",
        "{{x}}",
        1,
        "write {{$x}}, or set the format to mustache",
    ),
    ("semantic-kernel", "{{.x.y}}", 1, "set the format to go"),
    (
        "handlebars",
        "{{.x}}",
        1,
        "write {{x}}, or set the format to go",
    ),
    (
        "mustache",
        "{{$x}}",
        1,
        "write {{x}}, or set the format to semantic-kernel",
    ),
    ("mustache", "{{x | upper}}", 1, "set the format to jinja"),
    (
        "jinja",
        "{name}",
        1,
        "write {{ name }} for the variable, or set the format to f-string",
    ),
    (
        "f-string",
        "Hi {{name}}",
        4,
        "write {name} for the variable, or set the format to mustache",
    ),
    (
        "f-string",
        "Hi {{ user.name }}",
        4,
        "write {user[name]} for the variable, or set the format to jinja",
    ),
    (
        "f-string",
        "{{.x}}",
        1,
        "write {x} for the variable, or set the format to go",
    ),
    (
        "f-string",
        "{{$x}}",
        1,
        "or set the format to semantic-kernel",
    ),
    // Blocks in the syntax of another format.
    ("jinja", "{{#if x}}a", 1, "set the format to handlebars"),
    ("go", "{{#each l}}", 1, "set the format to handlebars"),
    ("go", "{{#l}}a", 1, "set the format to mustache"),
    (
        "semantic-kernel",
        "{{#if x}}",
        1,
        "set the format to handlebars",
    ),
    ("mustache", "{{#each l}}", 1, "set the format to handlebars"),
    ("mustache", "{{range .l}}a", 1, "set the format to go"),
    ("handlebars", "{{if .x}}a", 1, "set the format to go"),
    (
        "jinja",
        "{{- range $i, $e := .l }}",
        1,
        "set the format to go",
    ),
    ("go", "{% if x %}a", 1, "set the format to jinja"),
    (
        "handlebars",
        "{%- for x in l %}",
        1,
        "set the format to jinja",
    ),
    ("f-string", "{% if x %}a", 1, "set the format to jinja"),
];

#[test]
fn every_doubt_has_a_place_and_what_to_write() {
    for (format, text, column, help) in DOUBTS {
        let found = found(format, text);
        assert_eq!(found.len(), 1, "{format}: {text}: {found:#?}");
        let doubt = &found[0];
        assert_eq!(doubt.severity, Severity::Warning, "{format}: {text}");
        let at = doubt.position.map(|at| (at.line, at.column));
        assert_eq!(at, Some((1, *column)), "{format}: {text}");
        let said = doubt.help.as_deref().unwrap_or_default();
        assert!(said.contains(help), "{format}: {text}: {said}");
    }
}

/// Templates without warnings.
const FINE: &[(&str, &str)] = &[
    (
        "go",
        "{\"a\": {\"b\": {{.x}}}} {name} {{- if .y}}{{end}}{{$z := 1}}{{$z}}{{tool}} {{/* {{ */}}",
    ),
    ("go", "plain, {\"json\": [{\"a\": 1}]}, {} and { x } or {1}"),
    (
        "jinja",
        "{\"a\": {{ x }}, \"b\": {}} {{ {\"k\": 1}[\"k\"] }}{% if y %}{z}{% endif %}{# {{ #}",
    ),
    ("jinja", "{% raw %}{{ .x }}{% endraw %}"),
    (
        "semantic-kernel",
        "{\"a\": \"{{$x}}\"} {{time.now}} {{tool}} {{tool 'a'}}",
    ),
    (
        "handlebars",
        "{\"a\": {{x}}} {{#if y}}{name}{{else}}{{/if}} {{../z}} {{> p}} {{!-- {{.x}} --}}",
    ),
    ("handlebars", "{{#each l as |v k|}}{{.}}{{@index}}{{/each}}"),
    (
        "mustache",
        "{\"a\": {{{x}}}} {{#if}}{{.}}{{/if}}{{^y}}{name}{{/y}} {{! .x }}{{> p}}",
    ),
    ("f-string", "{{\"a\": {x}}} {y!r:>{w}} {d[k]} {z:%}{{name}}"),
    ("f-string", "{{ }} and {{\"only\": \"json\"}}"),
];

#[test]
fn what_means_what_it_looks_like_gives_none() {
    for (format, text) in FINE {
        let found = found(format, text);
        assert!(found.is_empty(), "{format}: {text}: {found:#?}");
    }
}

#[test]
fn every_format_has_a_dialect() {
    for format in TemplateFactory::standard().formats() {
        assert!(
            TemplateDialect::of(format.name()).is_some(),
            "{}",
            format.name()
        );
    }
}

/// Vectors that should cause a warning, by file.
const DOUBTFUL: &[(&str, &str, &[&str])] = &[
    ("f-string.json", "f-string", &["text-008"]),
    ("jinja2.json", "jinja", &[]),
    ("mustache.json", "mustache", &[]),
    ("handlebars.json", "handlebars", &[]),
    ("semantic-kernel.json", "semantic-kernel", &["text-014"]),
    ("sk-handlebars.json", "semantic-kernel-handlebars", &[]),
    ("sk-jinja2.json", "semantic-kernel-jinja2", &[]),
    ("liquid.json", "liquid", &["output-001"]),
];

#[test]
fn templates_of_the_vectors_give_none() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    for (file, format, doubtful) in DOUBTFUL {
        let text = std::fs::read_to_string(folder.join(file)).expect("the vectors are there");
        let vectors: serde_json::Value = serde_json::from_str(&text).expect("they are JSON");
        let vectors = vectors["vectors"].as_array().expect("a list");
        // Vectors with invalid templates may cause warnings, so only valid ones are checked.
        let right = vectors
            .iter()
            .filter(|vector| vector.get("expected").is_some());
        let template = |vector: &&serde_json::Value| vector["template"].as_str().map(str::to_owned);
        let doubted = right.filter(|vector| {
            template(vector)
                .is_some_and(|template| !found_with(format, &template, |_| true).is_empty())
        });
        let names: Vec<&str> = doubted
            .filter_map(|vector| vector["name"].as_str())
            .collect();
        assert_eq!(names, *doubtful, "{file}");
    }
}

/// Checks that the suggested text prints the original text.
#[tokio::test]
async fn what_is_shown_prints_what_was_meant() {
    let factory = TemplateFactory::standard();
    let group = "{{\"a\": {\"b\": 1}}}";
    for format in factory.formats() {
        // Format strings read the inner braces as a field; the table above covers them.
        if TemplateDialect::of(format.name()) == Some(TemplateDialect::FString) {
            continue;
        }
        let doubt = found(format.name(), group).pop();
        let doubt = doubt.unwrap_or_else(|| panic!("{}", format.name()));
        let help = doubt.help.unwrap_or_default();
        let Some(written) = format.escape(group) else {
            continue;
        };
        assert!(help.ends_with(&written), "{}: {help}", format.name());
        let sources = [TemplateSource::new("t", &written)];
        let template = format.compile(&sources, &CompileOptions::default());
        let template = template.expect("it compiles");
        let request = Render {
            template: &*template,
            entries: &["t"],
            variables: &Map::default(),
            functions: &NoFunctions,
            limits: &RenderLimits::default(),
        };
        let rendered = render(&request).await.expect("it renders");
        assert_eq!(rendered.text(0), group, "{}: {help}", format.name());
    }
}
