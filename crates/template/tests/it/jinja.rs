//! Tests of Jinja that the vectors do not cover: references, error locations, sets of sources,
//! strict mode, and external values.

use futures_util::FutureExt;
use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::{
    CallArguments, CallError, CompileError, CompileOptions, ErrorKind, FunctionHost, Missing,
    NoFunctions, Render, RenderError, RenderLimits, TemplateFactory, TemplateSource, render,
};

fn compiled(
    sources: &[TemplateSource<'_>],
    missing: Missing,
) -> Result<std::sync::Arc<dyn quillet_template::CompiledTemplate>, CompileError> {
    let options = CompileOptions {
        missing,
        ..CompileOptions::default()
    };
    TemplateFactory::standard().compile("hf", sources, &options)
}

fn rendered(
    sources: &[TemplateSource<'_>],
    missing: Missing,
    variables: &Map,
) -> Result<String, Box<RenderError>> {
    let template = compiled(sources, missing).expect("it compiles");
    let limits = RenderLimits {
        time: std::time::Duration::from_secs(20),
        ..RenderLimits::default()
    };
    let request = Render {
        template: &*template,
        entries: &["main"],
        variables,
        functions: &NoFunctions,
        limits: &limits,
    };
    let rendered = render(&request)
        .now_or_never()
        .expect("nothing to wait for");
    rendered.map(|rendered| rendered.text(0))
}

fn variables() -> Map {
    let text = r#"{"user":{"name":"Ann"},"n":1000000,"f":1.0,"l":[{"v":1}]}"#;
    let data = json::parse(text).expect("it is JSON");
    data.as_map().cloned().unwrap_or_default()
}

/// Templates with their variables (a `?` marks optional ones) and functions.
const REFERENCES: &[(&str, &[&str], &[&str])] = &[
    (
        "{{ user.name }}{{ user['age'] }}",
        &["user.name", "user.age"],
        &[],
    ),
    ("{{ l[0].v }}{{ l[i] }}", &["l", "i"], &[]),
    (
        "{% for m in messages %}{{ m.role }}{{ loop.index }}{% endfor %}",
        &["messages"],
        &[],
    ),
    ("{% set a = b %}{{ a }}{{ c }}", &["b", "c"], &[]),
    (
        "{{ a|default('x') }}{{ b is defined }}{{ c.d|d }}",
        &["a?", "b?", "c.d?"],
        &[],
    ),
    (
        "{% if a is defined %}{{ a.b }}{% else %}{{ c }}{% endif %}",
        &["a?", "a.b?", "c"],
        &[],
    ),
    (
        "{% if a is not defined %}{% set a = 1 %}{% endif %}{{ a }}",
        &["a?"],
        &[],
    ),
    ("{{ a is defined and a.b }}{{ a }}", &["a", "a.b?"], &[]),
    ("{{ a.items()|list }}{{ a.b.upper() }}", &["a", "a.b"], &[]),
    (
        "{{ lookup(x, key=y) }}{{ range(3) }}",
        &["x", "y"],
        &["lookup"],
    ),
    (
        "{% macro m(p) %}{{ p }}{{ later() }}{{ q }}{% endmacro %}{% macro later() %}{% endmacro %}{{ m(1) }}",
        &["q"],
        &[],
    ),
    (
        "{% with x = y %}{{ x }}{% endwith %}{{ x }}",
        &["y", "x"],
        &[],
    ),
    (
        "{% call(v) m(w) %}{{ v }}{{ caller() }}{% endcall %}",
        &["w"],
        &["m"],
    ),
    (
        "{% if t %}{% set x = 5 %}{% endif %}{{ x }}",
        &["t", "x?"],
        &[],
    ),
    (
        "{% if t %}{% set x = 5 %}{% else %}{% set x = 6 %}{% endif %}{{ x }}",
        &["t"],
        &[],
    ),
    (
        "{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% set x = 5 %}",
        &["x?"],
        &[],
    ),
];

#[test]
fn references_are_known_without_rendering() {
    for (text, wanted, functions) in REFERENCES {
        let template = compiled(&[TemplateSource::new("main", text)], Missing::Strict).unwrap();
        let found = template.references();
        let shown = |v: &quillet_template::VariableReference| {
            v.path.join(".") + if v.optional { "?" } else { "" }
        };
        let shown: Vec<String> = found.variables.iter().map(shown).collect();
        assert_eq!(shown, *wanted, "{text}");
        let called: Vec<&str> = found.functions.iter().map(|f| &*f.name).collect();
        assert_eq!(called, *functions, "{text}");
        for variable in &found.variables {
            let place = &text[variable.span.start..variable.span.end];
            assert!(place.starts_with(&variable.path[0]), "{text}: {place}");
        }
    }
}

#[test]
fn references_of_other_sources_count_only_where_they_are_used() {
    let sources = [
        TemplateSource::new("main", "{% include 'a' %}{% include 'gone' %}"),
        TemplateSource::library("a", "{{ x }}"),
        TemplateSource::library("b", "{{ y }}"),
    ];
    let template = compiled(&sources, Missing::Strict).unwrap();
    let found = template.references();
    assert_eq!(found.variables.len(), 1);
    assert_eq!(
        (&*found.variables[0].path[0], found.variables[0].source),
        ("x", 1)
    );
    assert_eq!(
        (&*found.templates, found.dynamic),
        (&["gone".to_owned()][..], false)
    );
    let bound_once = [
        TemplateSource::new(
            "main",
            "{% with x = 1 %}{% include 'a' %}{% endwith %}{% include 'a' %}",
        ),
        TemplateSource::library("a", "{{ x }}"),
    ];
    let template = compiled(&bound_once, Missing::Strict).unwrap();
    assert_eq!(template.references().variables[0].path, ["x"]);
    let dynamic = compiled(
        &[TemplateSource::new("main", "{% include x %}")],
        Missing::Strict,
    );
    assert!(dynamic.unwrap().references().dynamic);
}

/// Templates that do not compile, with the error's line and column, and a word of the message or
/// the help.
const BROKEN: &[(&str, usize, usize, &str)] = &[
    ("a\n  {{ x|uper }}", 2, 8, "did you mean upper?"),
    ("{{ x is dfined }}", 1, 9, "did you mean defined?"),
    ("{% fro x in y %}{% endfor %}", 1, 4, "did you mean for?"),
    ("{% if x %}a", 1, 11, "close the block with {% endif %}"),
    ("{{ (1 }}", 1, 7, "expected"),
    ("{{ 'a }}", 1, 4, "close the string"),
    ("{# a", 1, 1, "#}"),
    ("é {{ 1 + }}", 1, 10, "expected an expression"),
    ("{% endfor %}", 1, 4, "no open block"),
    ("{{ 99999999999999999999 }}", 1, 4, "64 bits"),
];

#[test]
fn errors_of_compiling_name_the_place_and_the_mend() {
    for (text, line, column, word) in BROKEN {
        let error = compiled(&[TemplateSource::new("main", text)], Missing::Default).unwrap_err();
        let found = &error.diagnostics[0];
        let place = found.position.map(|at| (at.line, at.column));
        assert_eq!(place, Some((*line, *column)), "{text}: {error}");
        assert!(error.to_string().contains(word), "{text}: {error}");
    }
}

#[test]
fn every_broken_source_is_reported() {
    let sources = [
        TemplateSource::new("a", "{{"),
        TemplateSource::new("b", ""),
        TemplateSource::new("c", "{%"),
    ];
    let error = compiled(&sources, Missing::Default).unwrap_err();
    let names: Vec<&str> = error.diagnostics.iter().map(|d| &*d.source).collect();
    assert_eq!(names, ["a", "c"]);
}

#[test]
fn errors_of_rendering_name_the_place_in_the_source_where_they_happen() {
    let sources = [
        TemplateSource::new("main", "{% from 'lib' import m %}\n{{ m(1) }}"),
        TemplateSource::library("lib", "{% macro m(x) %}\n {{ x + 'a' }}{% endmacro %}"),
    ];
    let error = rendered(&sources, Missing::Default, &variables()).unwrap_err();
    assert_eq!(error.source_name, "lib");
    assert!(
        error.message.starts_with("lib:2:5: unsupported operand"),
        "{error}"
    );
}

#[test]
fn strict_templates_name_what_is_missing() {
    for text in [
        "{{ user.nam }}",
        "{% if user.nam %}{% endif %}",
        "{% for x in user.nam %}{% endfor %}",
        "{{ user.nam ~ 'x' }}",
        "{{ user.nam == 1 }}",
        "{{ user.nam|upper }}",
    ] {
        let strict = rendered(
            &[TemplateSource::new("main", text)],
            Missing::Strict,
            &variables(),
        );
        let error = strict.unwrap_err();
        assert_eq!(error.kind, ErrorKind::MissingVariable, "{text}");
        assert_eq!(error.reason, "'user.nam' is undefined", "{text}");
        let lenient = rendered(
            &[TemplateSource::new("main", text)],
            Missing::Default,
            &variables(),
        );
        assert!(lenient.is_ok(), "{text}");
    }
    let text = "{{ user.nam|default('-') }}{{ user.nam is defined }}";
    let asked = rendered(
        &[TemplateSource::new("main", text)],
        Missing::Strict,
        &variables(),
    );
    assert_eq!(asked.unwrap(), "-False");
}

#[test]
fn sources_of_a_set_use_each_other() {
    let sources = [
        TemplateSource::new(
            "main",
            "{% extends 'base' %}{% block b %}[{{ super() }}{% include 'part' %}]{% endblock %}dropped",
        ),
        TemplateSource::library(
            "base",
            "<{% block b %}base{% endblock %}>{% import 'lib' as lib %}{{ lib.m(2) }}",
        ),
        TemplateSource::library("part", "{{ user.name }}{% include 'gone' ignore missing %}"),
        TemplateSource::library(
            "lib",
            "{% set k = 3 %}{% macro m(x) %}{{ x * k }}{{ user is defined }}{% endmacro %}",
        ),
    ];
    let text = rendered(&sources, Missing::Strict, &variables());
    assert_eq!(text.unwrap(), "<[baseAnn]>6False");
}

#[test]
fn values_from_outside_print_as_python_prints_them() {
    let text = "{{ n }} {{ f }} {{ l }} {{ user }}";
    let text = rendered(
        &[TemplateSource::new("main", text)],
        Missing::Strict,
        &variables(),
    );
    assert_eq!(text.unwrap(), "1000000 1.0 [{'v': 1}] {'name': 'Ann'}");
}

#[test]
fn an_object_that_stands_for_one_value_prints_it() {
    let answer: Map = [("text", Value::from("hello")), ("n", Value::Int(1))]
        .into_iter()
        .collect();
    let variables: Map = [("answer", Value::from(answer.with_display_key("text")))]
        .into_iter()
        .collect();
    let text = "{{ answer }}|{{ answer ~ '!' }}|{{ answer.n }}";
    let text = rendered(
        &[TemplateSource::new("main", text)],
        Missing::Strict,
        &variables,
    );
    assert_eq!(text.unwrap(), "hello|hello!|1");
}

#[test]
fn a_variable_nested_too_deep_is_refused() {
    let deep = (0..1000).fold(Value::Null, |value, _| Value::from(vec![value]));
    let variables: Map = [("deep", deep)].into_iter().collect();
    let error = rendered(
        &[TemplateSource::new("main", "{{ deep }}")],
        Missing::Strict,
        &variables,
    );
    assert_eq!(error.unwrap_err().kind.code(), "render.limit");
}

#[test]
fn a_macro_that_does_not_parse_leaves_the_parser_as_it_was() {
    let text = "{% for x in l %}{% macro m() %}{% for y %}{% endmacro %}{% break %}{% endfor %}{% break %}";
    let sources = [TemplateSource::new("t", text)];
    let compiled = compiled(&sources, Missing::Default);
    let found = compiled.unwrap_err().diagnostics;
    assert!(found[0].span.is_some(), "{found:?}");
}

#[test]
fn functions_are_filters_where_options_say_so() {
    let text = "{{ name|shout('!')|upper }}{{ 'x'|upper }}";
    let compile = |filters: &[&str]| {
        let options = CompileOptions {
            filters: filters.iter().map(|name| (*name).to_owned()).collect(),
            ..CompileOptions::default()
        };
        let formats = TemplateFactory::standard();
        formats.compile("jinja", &[TemplateSource::new("main", text)], &options)
    };
    let refused = compile(&[]).unwrap_err();
    assert!(
        refused.message.contains("filter shout is unknown"),
        "{refused}"
    );
    let called = |filters: &[&str]| {
        let template = compile(filters).unwrap();
        let functions = template.references().functions.iter();
        functions
            .map(|function| function.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(called(&["shout"]), ["shout"]);
    // A declared filter replaces the format's filter with that name.
    assert_eq!(called(&["shout", "upper"]), ["upper", "shout"]);
}

/// A host without functions that ends every render.
struct Impatient;

impl FunctionHost for Impatient {
    fn contains(&self, _: &str) -> bool {
        false
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }

    fn interrupted(&self) -> bool {
        true
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        _: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move { Err(CallError::new(name)) })
    }
}

#[test]
fn a_host_ends_long_renders() {
    let run = |text: &str| {
        let template = compiled(&[TemplateSource::new("main", text)], Missing::Default).unwrap();
        let request = Render {
            template: &*template,
            entries: &["main"],
            variables: &Map::default(),
            functions: &Impatient,
            limits: &RenderLimits::default(),
        };
        let rendered = render(&request)
            .now_or_never()
            .expect("it waits for nothing");
        rendered
            .map(|rendered| rendered.text(0))
            .map_err(|error| error.reason)
    };
    assert_eq!(run("{{ 1 + 1 }}"), Ok("2".to_owned()));
    let long = "{% for i in range(9000) %}{{ i }}{% endfor %}";
    assert_eq!(run(long), Err("the render was interrupted".to_owned()));
}
