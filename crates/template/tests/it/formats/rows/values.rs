//! Rows of formats that print values and call functions without arguments: Mustache and Python's
//! format strings.

use super::super::tools::DIGITS;
use super::super::{ROW, Row};

fn deep(depth: usize) -> String {
    format!("{}{}", "{{#l}}".repeat(depth), "{{/l}}".repeat(depth))
}

pub(super) const MUSTACHE: Row = Row {
    format: "mustache",
    hello: "Hi {{x}}, {{m.k}}!",
    print: "{{x}}",
    ten: "{{d0}}{{d1}}{{d2}}{{d3}}{{d4}}{{d5}}{{d6}}{{d7}}{{d8}}{{d9}}",
    ten_names: DIGITS,
    turns: Some("{{#l}}{{.}}{{/l}}"),
    partial: Some([("main", "a text of {{> other}}"), ("other", "{{x}}")]),
    fails: "text\n\n  {{crash}}{{three}}",
    fails_at: 3,
    mistake: Some(("text\n  {{x", 3)),
    missing: "{{nothing}}",
    decisions: &[
        ("{{#no}}{{wrong}}{{/no}}", ""),
        ("{{^yes}}{{wrong}}{{/yes}}", ""),
        ("{{#yes}}y{{/yes}}{{^yes}}{{wrong}}{{/yes}}", "y"),
        ("{{#pair}}{{.}}{{/pair}}{{^pair}}{{wrong}}{{/pair}}", "12"),
        (
            "{{#person}}{{name}}{{/person}}{{^person}}{{wrong}}{{/person}}",
            "Ann",
        ),
    ],
    deep: Some(deep),
    recursion: Some([("main", "{{> other}}"), ("other", "{{> other}}")]),
    ..ROW
};

/// Characters that mustache.js escapes, with their replacements.
const HTML: &[(char, &str)] = &[
    ('&', "&amp;"),
    ('<', "&lt;"),
    ('>', "&gt;"),
    ('"', "&quot;"),
    ('\'', "&#39;"),
    ('/', "&#x2F;"),
    ('`', "&#x60;"),
    ('=', "&#x3D;"),
];

fn html(text: &str) -> String {
    let one = |c: char| match HTML.iter().find(|(from, _)| *from == c) {
        Some((_, to)) => (*to).to_owned(),
        None => c.to_string(),
    };
    text.chars().map(one).collect()
}

pub(super) const MUSTACHE_HTML: Row = Row {
    format: "mustache-html",
    shown: html,
    ..MUSTACHE
};

pub(super) const F_STRING: Row = Row {
    format: "f-string",
    hello: "Hi {x}, {m[k]}!",
    print: "{x}",
    ten: "{d0}{d1}{d2}{d3}{d4}{d5}{d6}{d7}{d8}{d9}",
    ten_names: DIGITS,
    fails: "text\n\n  {crash}{three}",
    fails_at: 3,
    mistake: Some(("text\n  {x", 3)),
    missing: "{nothing}",
    ..ROW
};

pub(super) const F_STRING_STRICT: Row = Row {
    format: "f-string-strict",
    hello: "Hi {x}!",
    paths: false,
    ..F_STRING
};
