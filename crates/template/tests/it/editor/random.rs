//! Checks that any text has valid tokens in every format, and valid completion items at every
//! position.

use std::path::Path;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use quillet_template::{CompileLimits, TemplateFactory, editor};

use super::{assert_fit, factory, published};

/// Fragments of templates in all formats.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{{{",
    "}}}",
    "{{{{",
    "}}}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{{-",
    "-}}",
    "{%-",
    "-%}",
    "{{~",
    "~}}",
    "{{!",
    "{{!--",
    "--}}",
    "{{/*",
    "*/}}",
    "{{#",
    "{{^",
    "{{/",
    "{{>",
    "{{&",
    "{{=<% %>=}}",
    "<%",
    "%>",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "|",
    ".",
    "..",
    "/",
    ",",
    ":",
    "=",
    "==",
    ":=",
    "$",
    "$x",
    "@",
    "@index",
    ".x",
    "x",
    "y.z",
    "raw",
    "endraw",
    "{% raw %}",
    "{% endraw %}",
    "comment",
    "endcomment",
    "{% comment %}",
    "{% liquid",
    "if",
    "else",
    "each",
    "for",
    "in",
    "is",
    "not",
    "as |",
    "set",
    "true",
    "nil",
    "f",
    "a='b'",
    "k=",
    "\"",
    "'",
    "`",
    "\"text\"",
    "'v'",
    "1",
    "1.5",
    "-",
    "+",
    "!r",
    ":>{",
    "\\",
    "\\{{",
    "\\\\{{",
    " ",
    "\n",
    "\t",
    "é",
    "世",
    "😀",
    "\u{a0}",
    "\0",
    "text",
];

static FACTORY: LazyLock<TemplateFactory> = LazyLock::new(factory);

/// Published templates of every format.
static PUBLISHED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let conformance = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let files = [
        "jinja2",
        "handlebars",
        "mustache",
        "liquid",
        "semantic-kernel",
        "f-string",
    ];
    let mut found: Vec<String> = files
        .iter()
        .flat_map(|file| published::read(&conformance.join(format!("{file}.json"))))
        .filter(|text| text.len() < 400)
        .collect();
    let go = published::read(&conformance.join("go-template.json"));
    found.extend(go.into_iter().filter(|text| text.len() < 400).step_by(10));
    found
});

fn anything() -> impl Strategy<Value = String> {
    vec(select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

/// Replaces a part of a published template by random fragments.
fn mutated() -> impl Strategy<Value = String> {
    let place = || any::<Index>();
    (place(), place(), place(), vec(select(PIECES), 0..4)).prop_map(|(which, from, to, pieces)| {
        let text = which.get(&PUBLISHED);
        let bounds: Vec<usize> = (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .collect();
        let (one, other) = (*from.get(&bounds), *to.get(&bounds));
        let (start, end) = (one.min(other), one.max(other));
        let end = end.min(start + 12);
        let end = (end..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(start);
        [&text[..start], &pieces.concat(), &text[end..]].concat()
    })
}

fn check(text: &str) {
    let limits = CompileLimits::default();
    let variables = ["name".to_owned()];
    let functions = ["tool".to_owned()];
    let names = editor::ExternalNames {
        variables: &variables,
        functions: &functions,
    };
    for format in FACTORY.formats() {
        let tokens = editor::tokens(&**format, text, &limits);
        assert_fit(text, &tokens);
        for at in 0..=text.len() + 1 {
            let found = editor::completions(&**format, text, at, &names, &limits);
            assert!(
                found.is_empty() || text.is_char_boundary(at),
                "{text:?} at {at}"
            );
            for one in found {
                let (start, end) = (one.span.start, one.span.end);
                assert!(start <= at && at <= end, "{one:?} at {at} of {text:?}");
                assert!(text.get(start..end).is_some(), "{one:?} in {text:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn texts_of_any_pieces_have_tokens_that_fit(text in anything()) {
        check(&text);
    }

    #[test]
    fn templates_that_were_broken_have_tokens_that_fit(text in mutated()) {
        check(&text);
    }
}

/// Formats with separate lexers.
const LEXERS: &[&str] = &[
    "go",
    "jinja",
    "handlebars",
    "mustache",
    "liquid",
    "semantic-kernel",
    "f-string",
];

/// Repeats each fragment. A lexer that scans the rest of the text at every repetition would take
/// very long. `benches/doubling.rs` measures the time.
#[test]
fn long_texts_of_one_piece_come_to_an_end() {
    let limits = CompileLimits::default();
    for piece in PIECES {
        let text = piece.repeat((32 << 10) / piece.len());
        for name in LEXERS {
            let format = FACTORY.format(name).expect("the format exists");
            assert_fit(&text, &editor::tokens(&**format, &text, &limits));
        }
    }
}

#[test]
fn a_text_over_the_limit_has_none() {
    let limits = CompileLimits {
        source_bytes: 7,
        ..CompileLimits::default()
    };
    let format = FACTORY.format("jinja").unwrap();
    assert_eq!(editor::tokens(&**format, "{{ xx }}", &limits), []);
    assert_eq!(editor::tokens(&**format, "{{ x }}", &limits).len(), 3);
    let names = editor::ExternalNames::default();
    assert_eq!(
        editor::completions(&**format, "{{ xx }}", 3, &names, &limits),
        []
    );
    assert!(!editor::completions(&**format, "{{ x }}", 3, &names, &limits).is_empty());
}
