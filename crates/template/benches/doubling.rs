//! Checks that the time of every format is linear in the length of its input. Each hostile shape is
//! compiled, rendered if it compiles, and tokenized as for an editor, at 256 KiB and at 512 KiB.
//!
//!     cargo bench -p quillet-template --bench doubling [-- FORMAT…]
//!
//! Each line is `format TAB shape TAB milliseconds TAB milliseconds at twice the length TAB ratio`.
//! A ratio of 2 is linear, 4 is quadratic. A ratio above 3 is marked if the time is long enough to
//! be reliable.

#[expect(dead_code, reason = "only the clock is needed here")]
mod measure;

use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::json;
use quillet_template::{
    CompileLimits, CompileOptions, MessageSyntax, NoFunctions, Render, RenderLimits,
    TemplateFactory, TemplateSource, editor, render,
};

const SIZE: usize = 256 << 10;

/// Shapes for all formats with braces. A counter replaces each `#`.
const BRACES: &[&str] = &[
    "{", "}", "{{", "}}", "{{{", "{{!", "{{'", "{{\"", "{{ x }}", "{{x#}}", "{{x.y#}}", "x", " ",
    "\n", "\\", "{{ ", "{{x",
];

/// Shapes for single formats. The part before `…` is written once and not repeated.
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
        &["liquid"],
        &[
            "{% if x %}",
            "{% if x %}{% endif %}",
            "{% if x %}…{% elsif x %}a",
            "{% case x %}…{% when 1, 2 or 3 %}",
            "{% when 1…, 1",
            "{% assign a# = x | upcase %}",
            "{% assign …a b ",
            "{% for i in l %}{{ i }}{% endfor %}",
            "{% for i in l …limit: 1 ",
            "{% raw %}…{% {{ ",
            "{% raw %}{% endraw %}",
            "{% comment %}{% endcomment %}",
            "{% liquid…\n echo x",
            "{% cycle …'a',",
            "{% include 'p' …a#: x ",
            "{% include 'p' %}",
            "{% render 'p', x: x %}",
            "{% tablerow …i in ",
            "{{ x",
            "{{ x }",
            "{{ x …| upcase",
            "{{ x | tool: …1, ",
            "{{ …a.",
            "{{ …a[",
            "{{ '…'",
            "{% if x …and x ",
            "{{- x -}}  ",
            "{% increment a# %}",
            "{{ '<' | strip_html }}",
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

/// Message syntaxes to test with `go`.
const MESSAGES: &[(MessageSyntax, &str)] = &[
    (MessageSyntax::RoleLines, "user:\n{{.x#}}\n"),
    (MessageSyntax::RoleLines, "user[name=\"a\"]:\n"),
    (
        MessageSyntax::Elements,
        "<message role=\"user\">{{.x#}}</message>",
    ),
    (MessageSyntax::Elements, "<message role=\"user\">"),
    (MessageSyntax::Elements, "<message role=\"user\"…a=\"b\" "),
    (
        MessageSyntax::Elements,
        "<message role=\"user\">…<text>&lt;</text>",
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
            report(&factory, name, MessageSyntax::Plain, shape);
            let limits = CompileLimits::default();
            line(&format!("{name}, editor"), shape, &|text| {
                std::hint::black_box(editor::tokens(&**format, text, &limits));
            });
        }
    }
    for (messages, shape) in MESSAGES {
        report(&factory, "go", *messages, shape);
    }
}

fn report(factory: &TemplateFactory, format: &str, messages: MessageSyntax, shape: &str) {
    line(format, shape, &|text| once(factory, format, messages, text));
}

/// Measures one shape and prints its line.
fn line(name: &str, shape: &str, work: &dyn Fn(&str)) {
    let time = |size| time(work, &text(shape, size));
    let (once, twice) = (time(SIZE), time(2 * SIZE));
    let ratio = twice.as_secs_f64() / once.as_secs_f64();
    let mark = if ratio > 3.0 && twice > Duration::from_millis(100) {
        "\tmore than linear"
    } else {
        ""
    };
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "{name}\t{shape:?}\t{:.2}\t{:.2}\t{ratio:.1}{mark}",
        milliseconds(once),
        milliseconds(twice)
    );
}

/// Repeats a shape up to a length.
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

/// Returns the CPU time of one run, including allocation and deallocation: the average of as many
/// runs as the coarse clock needs.
fn time(work: &dyn Fn(&str), text: &str) -> Duration {
    work(text);
    let start = measure::cpu();
    let mut turns = 0;
    loop {
        work(text);
        turns += 1;
        let spent = Duration::from_nanos(measure::cpu() - start);
        if spent > Duration::from_millis(60) {
            return spent / turns;
        }
    }
}

fn once(factory: &TemplateFactory, format: &str, messages: MessageSyntax, text: &str) {
    let data = json::parse(r#"{"x": {"y": 1}, "l": [1, 2], "y": 1}"#);
    let data = data.expect("the data is JSON");
    let options = CompileOptions {
        messages,
        ..CompileOptions::default()
    };
    let sources = [
        TemplateSource::new("main", text),
        TemplateSource::library("p", "[{{x}}]"),
    ];
    let Ok(template) = factory.compile(format, &sources, &options) else {
        return;
    };
    let limits = RenderLimits {
        time: Duration::from_secs(60),
        ..RenderLimits::default()
    };
    let rendered = render(&Render {
        template: template.as_ref(),
        entries: &["main"],
        variables: data.as_map().expect("the data is an object"),
        functions: &NoFunctions,
        limits: &limits,
    })
    .now_or_never();
    if let Some(Ok(rendered)) = rendered {
        std::hint::black_box((rendered.messages(0, &[]), rendered.text(0)));
    }
}
