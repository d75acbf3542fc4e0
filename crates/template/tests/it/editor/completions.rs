//! Completion items at a position, in each format. `¦` marks the position.

use quillet_template::CompileLimits;
use quillet_template::editor::{self, CompletionItem, ExternalNames};

use super::factory;

fn at(format: &str, marked: &str) -> Vec<CompletionItem> {
    let variables = ["user".to_owned(), "city".to_owned()];
    let functions = ["weather".to_owned()];
    let names = ExternalNames {
        variables: &variables,
        functions: &functions,
    };
    let at = marked.find('¦').expect("the place is marked");
    let text = marked.replace('¦', "");
    let factory = factory();
    let format = factory.format(format).expect("the format exists");
    editor::completions(&**format, &text, at, &names, &CompileLimits::default())
}

/// A text, expected labels, labels that must be absent, and the text to replace.
type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a str);

fn check(format: &str, table: &[Row<'_>]) {
    for (marked, offered, not, over) in table {
        let found = at(format, marked);
        let has = |label: &&&str| found.iter().any(|one| one.label == **label);
        let missing: Vec<_> = offered.iter().filter(|label| !has(label)).collect();
        assert!(missing.is_empty(), "{format} {marked}: no {missing:?}");
        let wrong: Vec<_> = not.iter().filter(has).collect();
        assert!(wrong.is_empty(), "{format} {marked}: {wrong:?}");
        assert!(
            !offered.is_empty() || !not.is_empty() || found.is_empty(),
            "{format} {marked}: {found:?}"
        );
        let text = marked.replace('¦', "");
        for one in &found {
            assert_eq!(
                &text[one.span.start..one.span.end],
                *over,
                "{format} {marked}: {one:?}"
            );
        }
    }
}

/// No completion items are expected.
const NONE: &[&str] = &[];

#[test]
fn go() {
    check(
        "go",
        &[
            ("a¦ {{ .x }} b", NONE, NONE, ""),
            ("a {{ .x }} ¦b", NONE, NONE, ""),
            (
                "{{ ¦ }}",
                &[".user", "weather", "printf", "if", "upper"],
                &["user"],
                "",
            ),
            ("{{ .us¦er }}", &[".user", ".city"], NONE, ".user"),
            ("{{ .¦", &[".user"], NONE, "."),
            ("{{ .user.na¦ }}", NONE, NONE, ""),
            (
                "{{ .user | to¦ }}",
                &["weather", "toJson", "printf"],
                &[".user", "if"],
                "to",
            ),
            ("{{ if e¦ }}", &["eq", ".city", "true"], &["if", "end"], "e"),
            ("{{ $a := 1 }}{{ $¦ }}", &["$a", ".user"], NONE, "$"),
            ("{{ else ¦ }}", &["if", "with"], &["range"], ""),
            ("{{ printf \"¦\" }}", NONE, NONE, ""),
            ("{{/* ¦ */}}", NONE, NONE, ""),
        ],
    );
}

#[test]
fn jinja() {
    check(
        "jinja",
        &[
            ("a¦ {{ x }} b", NONE, NONE, ""),
            (
                "{{ ¦",
                &["user", "weather", "range", "true"],
                &["upper", "endif"],
                "",
            ),
            ("{{ us¦ }}", &["user", "city"], &["upper"], "us"),
            ("{{ user.¦ }}", NONE, NONE, ""),
            ("{{ user.na¦ }}", NONE, NONE, ""),
            (
                "{{ user|up¦ }}",
                &["upper", "join"],
                &["user", "weather"],
                "up",
            ),
            ("{{ user is ¦ }}", &["defined", "not"], &["user"], ""),
            ("{{ user is not de¦ }}", &["defined"], &["user"], "de"),
            ("{{ user ¦ }}", &["and", "is", "if"], &["user", "upper"], ""),
            ("{% ¦ %}", &["if", "endfor", "generation"], &["user"], ""),
            ("{% if us¦ %}", &["user", "not"], &["endif"], "us"),
            ("{% for ¦", NONE, NONE, ""),
            ("{% for x in ¦", &["user"], &["upper"], ""),
            ("{% set x = ¦ %}", &["user"], NONE, ""),
            ("{{ 'us¦' }}", NONE, NONE, ""),
            ("{{ 'us¦", NONE, NONE, ""),
            ("{# us¦ #}", NONE, NONE, ""),
            ("{% raw %} {{ ¦ }} {% endraw %}", NONE, NONE, ""),
            ("{{ a ? }} {{ us¦", &["user"], NONE, "us"),
        ],
    );
    check(
        "jinja-plain",
        &[("{% ¦ %}", &["if"], &["generation", "break"], "")],
    );
    check(
        "jinja-script",
        &[("{{ x|¦", &["upper", "weather"], &["user"], "")],
    );
}

#[test]
fn handlebars() {
    check(
        "handlebars",
        &[
            ("a¦ {{x}} b", NONE, NONE, ""),
            ("{{¦}}", &["user", "weather", "lookup", "else"], &["if"], ""),
            ("{{us¦}}", &["user"], NONE, "us"),
            ("{{#¦}}", &["if", "each", "user"], &["else"], ""),
            ("{{#if us¦}}", &["user", "this"], &["if", "weather"], "us"),
            ("{{weather (¦", &["weather", "lookup"], &["user"], ""),
            ("{{user.¦}}", NONE, NONE, ""),
            ("{{/¦}}", &["if", "each"], &["user"], ""),
            ("{{else ¦}}", &["if"], NONE, ""),
            ("{{> ¦}}", NONE, NONE, ""),
            ("{{!-- ¦ --}}", NONE, NONE, ""),
            ("{{x \"¦\"}}", NONE, NONE, ""),
        ],
    );
    check(
        "dotprompt",
        &[("{{¦}}", &["user", "role", "json"], NONE, "")],
    );
    check(
        "semantic-kernel-handlebars",
        &[("{{¦}}", &["user", "concat", "weather"], NONE, "")],
    );
}

#[test]
fn mustache() {
    check(
        "mustache",
        &[
            ("a¦ {{x}} b", NONE, NONE, ""),
            ("{{¦}}", &["user", "weather"], NONE, ""),
            ("{{# us¦ }}", &["user"], NONE, "us"),
            ("{{us¦", &["user"], NONE, "us"),
            ("{{> ¦}}", NONE, NONE, ""),
            ("{{user.¦}}", NONE, NONE, ""),
            ("{{! ¦ }}", NONE, NONE, ""),
            ("{{=<% %>=}}<% ¦ %>", &["user"], NONE, ""),
        ],
    );
}

#[test]
fn liquid() {
    check(
        "liquid",
        &[
            ("a¦ {{ x }} b", NONE, NONE, ""),
            (
                "{{ ¦ }}",
                &["user", "true"],
                &["upcase", "if", "weather"],
                "",
            ),
            ("{{ us¦", &["user"], NONE, "us"),
            ("{{ user | up¦ }}", &["upcase", "weather"], &["user"], "up"),
            ("{{ user.¦ }}", NONE, NONE, ""),
            ("{% ¦ %}", &["if", "assign", "endfor"], &["user"], ""),
            ("{% if user ¦ %}", &["and", "contains"], &["user"], ""),
            ("{% for ¦", NONE, NONE, ""),
            ("{% for x ¦", &["in"], &["user"], ""),
            ("{% for x in us¦ %}", &["user"], NONE, "us"),
            ("{{ 'us¦' }}", NONE, NONE, ""),
            ("{% comment %} {{ ¦ }}", NONE, NONE, ""),
            ("{% raw %} {{ ¦ }}", NONE, NONE, ""),
        ],
    );
}

#[test]
fn semantic_kernel() {
    check(
        "semantic-kernel",
        &[
            ("a¦ {{$x}} b", NONE, NONE, ""),
            ("{{¦}}", &["$user", "weather"], &["user"], ""),
            ("{{$us¦}}", &["$user"], NONE, "$us"),
            ("{{$¦", &["$user"], NONE, "$"),
            ("{{we¦}}", &["weather"], NONE, "we"),
            ("{{weather ¦}}", &["$user"], &["weather"], ""),
            ("{{weather city=$¦}}", &["$city"], &["weather"], "$"),
            ("{{$user ¦}}", NONE, NONE, ""),
            ("{{'¦'}}", NONE, NONE, ""),
        ],
    );
}

#[test]
fn format_strings() {
    check(
        "f-string",
        &[
            ("a¦ {x} b", NONE, NONE, ""),
            ("{¦}", &["user", "weather"], NONE, ""),
            ("{us¦", &["user"], NONE, "us"),
            ("{us¦er:>5}", &["user"], NONE, "user"),
            ("{{¦}}", NONE, NONE, ""),
            ("{user[¦]}", NONE, NONE, ""),
            ("{user!¦}", NONE, NONE, ""),
            ("{user:¦}", NONE, NONE, ""),
        ],
    );
}
