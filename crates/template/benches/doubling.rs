//! Whether any input makes a format take more than its length's worth of time:
//! hostile shapes of 256 and of 512 KiB, compiled and (if they compile) rendered.
//!
//!     cargo bench -p quillet-template --bench doubling [-- FORMAT…]
//!
//! Each line is `format TAB shape TAB milliseconds TAB milliseconds of twice
//! as much TAB ratio`: 2 is linear, 4 is quadratic. What takes more than three
//! times as long, and long enough to be sure, is marked.

#[expect(dead_code, reason = "only the clock is needed here")]
mod measure;

use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::{Map, json};
use quillet_template::{
    CompileOptions, Limits, NoFunctions, Render, Source, TemplateFactory, render,
};

const SIZE: usize = 256 << 10;

/// What the formats with braces share; `#` stands for a number that counts up.
const BRACES: &[&str] = &[
    "{", "}", "{{", "}}", "{{{", "{{!", "{{'", "{{\"", "{{ x }}", "{{x#}}", "{{x.y#}}", "x", " ",
    "\n", "\\", "{{ ", "{{x",
];

/// What each language has of its own; a prefix before `…` stands once.
const OWN: &[(&[&str], &[&str])] = &[
    (
        &["go"],
        &[
            "{{.x#}}",
            "{{f# .x}}",
            "{{/*",
            "{{if .x}}",
            "{{if .x}}{{end}}",
            "{{template \"t#\"}}",
            "{{define \"t#\"}}{{end}}",
            "{{$a# := 1}}",
            "{{- ",
            " -}} {{- 1}}",
            "{{(…(",
            "{{1…|print",
            "{{$x := 1}}…{{$x}}",
        ],
    ),
    (
        &["jinja", "jinja-plain", "semantic-kernel-jinja2"],
        &[
            "{%",
            "{#",
            "{% raw %}",
            "{% if x %}",
            "{% if x %}{% endif %}",
            "{% set x# = 1 %}",
            "{% if x %}{% set x# = 1 %}{% endif %}",
            "{% macro m#() %}{% endmacro %}",
            "{{ f#() }}",
            "{{ x|f# }}",
            "{% include 'p' %}",
            "{% include 'p#' %}",
            "{% block b# %}{% endblock %}",
            "{{ (…(",
            "{{ x…|upper",
            "{{ 1…+1",
            "{{ x…~x",
            "{{ …not ",
            "{{ [1…,1",
            "{% if 0 %}…{% elif x %}{% set y = 1 %}",
        ],
    ),
    (
        &["semantic-kernel"],
        &[
            "{{$x#}}",
            "{{$x",
            "{{p.f#}}",
            "{{p.f $x}}",
            "{{f 'a' b='c'}}",
            "{{'a}}",
            "{{'\\'",
            "{{f…a='b' ",
            "<message role=\"user\">",
            "<message role=\"user\">x</message>",
            "<message",
        ],
    ),
    (
        &["handlebars", "semantic-kernel-handlebars"],
        &[
            "{{#if x}}",
            "{{#if x}}{{/if}}",
            "{{#if x}}\n{{else}}\n{{/if}}\n",
            "{{#each l}}",
            "{{/if}}",
            "{{!--",
            "{{> p#}}",
            "{{> p}}",
            "{{#> p}}{{/p}}",
            "{{#*inline \"p#\"}}{{/inline}}",
            "{{{{raw}}}}",
            "{{{{raw}}}}{{{{/raw}}}}",
            "{{f# x}}",
            "{{f x=1}}",
            "{{~x~}} ",
            "{{../x}}",
            "{{…../",
            "{{f…(f ",
            "{{f… x",
            "{{f… x#=1",
            "{{#if x}}…{{else if x}}",
            "   {{! c }}   \n",
            "\\{{x}}",
            "\\\\{{x}}",
            "{{[a#]}}",
            "{{x…|",
            "{{#each l as |a b|}}{{/each}}",
        ],
    ),
    (
        &["mustache"],
        &[
            "{{#x}}",
            "{{#x}}{{/x}}",
            "{{^x}}{{/x}}",
            "{{#x#}}{{/x#}}",
            "{{/x}}",
            "{{> p#}}",
            "{{> p}}",
            "{{=<% %>=}}<%={{ }}=%>",
            "{{=",
            "   {{! c }}   \n",
            "{{&x}}",
            "{{#l}}x{{/l}}",
        ],
    ),
    (
        &["f-string"],
        &[
            "{x}",
            "{x#}",
            "{x",
            "{{}}",
            "{x!r}",
            "{x:>{y}}",
            "{x[0]}",
            "{x.y#}",
            "{x:…{y:",
            "{x…[0]",
            "{x….a",
            "{x:…>",
        ],
    ),
];

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let factory = TemplateFactory::standard();
    for format in factory.formats() {
        let name = format.name();
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let own = OWN.iter().filter(|(formats, _)| formats.contains(&name));
        for shape in own.flat_map(|(_, shapes)| *shapes).chain(BRACES) {
            report(&factory, name, shape);
        }
    }
}

fn report(factory: &TemplateFactory, format: &str, shape: &str) {
    let once = time(factory, format, &text(shape, SIZE));
    let twice = time(factory, format, &text(shape, 2 * SIZE));
    let ratio = twice.as_secs_f64() / once.as_secs_f64();
    let mark = match ratio > 3.0 && twice > Duration::from_millis(20) {
        true => "\tmore than linear",
        false => "",
    };
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "{format}\t{shape:?}\t{:.2}\t{:.2}\t{ratio:.1}{mark}",
        milliseconds(once),
        milliseconds(twice)
    );
}

/// A shape, repeated up to a length.
fn text(shape: &str, length: usize) -> String {
    let (once, repeated) = shape.split_once('…').unwrap_or(("", shape));
    let mut text = once.to_owned();
    let mut number = 0;
    while text.len() < length {
        text += &repeated.replace('#', &number.to_string());
        number += 1;
    }
    text
}

/// CPU time: the best of a few, each with everything that is built and dropped.
fn time(factory: &TemplateFactory, format: &str, text: &str) -> Duration {
    let data = json::parse(r#"{"x": {"y": 1}, "l": [1, 2], "y": 1}"#);
    let data = data.expect("the data is JSON");
    let run = || {
        let start = measure::cpu();
        once(factory, format, text, data.as_map().expect("an object"));
        Duration::from_nanos(measure::cpu() - start)
    };
    let first = run();
    // What is slow is slow enough to be sure of at once.
    if first > Duration::from_millis(500) {
        return first;
    }
    (0..3)
        .map(|_| run())
        .min()
        .map_or(first, |best| best.min(first))
}

fn once(factory: &TemplateFactory, format: &str, text: &str, data: &Map) {
    let sources = [Source::new("main", text), Source::library("p", "[{{x}}]")];
    let Ok(template) = factory.compile(format, &sources, &CompileOptions::default()) else {
        return;
    };
    let limits = Limits {
        time: Duration::from_secs(60),
        ..Limits::default()
    };
    let rendered = render(&Render {
        template: template.as_ref(),
        entries: &["main"],
        variables: data,
        functions: &NoFunctions,
        limits: &limits,
    })
    .now_or_never();
    std::hint::black_box(rendered.map(|rendered| rendered.is_ok()));
}
