//! Rows of the Handlebars family.

use super::super::{ROW, Row};

fn deep(depth: usize) -> String {
    format!(
        "{{{{echo {}x{}}}}}",
        "(echo ".repeat(depth),
        ")".repeat(depth)
    )
}

pub(super) const HANDLEBARS: Row = Row {
    format: "handlebars",
    hello: "Hi {{x}}, {{m.k}}!",
    print: "{{x}}",
    ten: "{{echo '0'}}{{echo '1'}}{{echo '2'}}{{echo '3'}}{{echo '4'}}{{echo '5'}}{{echo '6'}}{{echo '7'}}{{echo '8'}}{{echo '9'}}",
    chain: Some("{{plus (plus (plus x))}}"),
    turns: Some("{{#each l}}{{this}}{{/each}}"),
    partial: Some([("main", "a text of {{> other}}"), ("other", "{{x}}")]),
    fails: "text\n\n  {{crash 1}}{{echo 2}}",
    fails_at: 5,
    mistake: Some(("text\n  {{x", 3)),
    unknown: Some("{{ehco 1}}"),
    missing: "{{nothing}}",
    decisions: &[
        ("{{#if (no)}}{{wrong}}{{/if}}", ""),
        ("{{#if (yes)}}y{{else}}{{wrong}}{{/if}}", "y"),
        ("{{#if (yes)}}y{{else if (wrong)}}{{/if}}", "y"),
        ("{{#unless (yes)}}{{wrong}}{{/unless}}", ""),
        (
            "{{#with (person)}}{{name}}{{else}}{{wrong}}{{/with}}",
            "Ann",
        ),
        ("{{#each (pair)}}{{this}}{{else}}{{wrong}}{{/each}}", "12"),
        ("{{#if (echo (no))}}{{wrong}}{{/if}}", ""),
        ("{{#if (lookup (person) 'nobody')}}{{wrong}}{{/if}}", ""),
        (
            "{{#if (lookup (person) (echo 'nobody'))}}{{wrong}}{{/if}}",
            "",
        ),
        ("{{#if (person)}}{{#if (no)}}{{wrong}}{{/if}}p{{/if}}", "p"),
        (
            "{{#if (no)}}{{wrong}}{{else unless (yes)}}{{wrong}}{{else}}e{{/if}}",
            "e",
        ),
        ("{{#if (no) includeZero=true}}{{wrong}}{{/if}}", ""),
        ("{{#no}}{{wrong}}{{/no}}", ""),
        ("{{^yes}}{{wrong}}{{/yes}}", ""),
        ("{{#person}}{{name}}{{else}}{{wrong}}{{/person}}", "Ann"),
    ],
    deep: Some(deep),
    recursion: Some([("main", "{{> other}}"), ("other", "{{> other}}")]),
    ..ROW
};

pub(super) const SEMANTIC_KERNEL_HANDLEBARS: Row = Row {
    format: "semantic-kernel-handlebars",
    decisions: &[
        ("{{#if (no)}}{{wrong}}{{/if}}", ""),
        ("{{#unless (yes)}}{{wrong}}{{/unless}}", ""),
        ("{{#if (equals (three) 4)}}{{wrong}}{{/if}}", ""),
        ("{{#if (equals (three) 3)}}y{{else}}{{wrong}}{{/if}}", "y"),
        ("{{#if (or (no) (no))}}{{wrong}}{{/if}}", ""),
        ("{{#each (pair)}}{{this}}{{else}}{{wrong}}{{/each}}", "12"),
        (
            "{{#with (person)}}{{name}}{{else}}{{wrong}}{{/with}}",
            "Ann",
        ),
        ("{{set 'a' (no)}}{{#if a}}{{wrong}}{{/if}}", ""),
    ],
    ..HANDLEBARS
};

/// Escapes a value like handlebars.js.
fn html(value: &str) -> String {
    let one = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#x27;".to_owned(),
        '`' => "&#x60;".to_owned(),
        '=' => "&#x3D;".to_owned(),
        c => c.to_string(),
    };
    value.chars().map(one).collect()
}

pub(super) const HANDLEBARS_HTML: Row = Row {
    format: "handlebars-html",
    shown: html,
    ..HANDLEBARS
};

pub(super) const DOTPROMPT: Row = Row {
    format: "dotprompt",
    decisions: &[
        ("{{#if (no)}}{{wrong}}{{/if}}", ""),
        ("{{#unless (yes)}}{{wrong}}{{/unless}}", ""),
        ("{{#ifEquals (three) 4}}{{wrong}}{{/ifEquals}}", ""),
        (
            "{{#ifEquals (three) 3}}y{{else}}{{wrong}}{{/ifEquals}}",
            "y",
        ),
        ("{{#unlessEquals (three) 3}}{{wrong}}{{/unlessEquals}}", ""),
        ("{{#each (pair)}}{{this}}{{else}}{{wrong}}{{/each}}", "12"),
        (
            "{{#with (person)}}{{name}}{{else}}{{wrong}}{{/with}}",
            "Ann",
        ),
    ],
    ..HANDLEBARS
};
