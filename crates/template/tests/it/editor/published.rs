//! Checks the published templates of every format: each compiled reference must have a token at its
//! location.

use std::path::Path;

use quillet_core::{SemanticToken, Span, TokenKind};
use quillet_template::{CompileOptions, Missing, TemplateFormat, TemplateSource};
use serde_json::Value;

use super::{assert_fit, factory, tokens};

/// Files with the formats of their templates.
const FILES: &[(&str, &[&str])] = &[
    ("go-template.json", &["go"]),
    ("go-template-sprig.json", &["go"]),
    ("go-sprig-library.json", &["go"]),
    ("jinja2.json", &["jinja", "jinja-plain", "jinja-script"]),
    ("jinja2-differential.json", &["jinja", "jinja-plain"]),
    ("sk-jinja2.json", &["semantic-kernel-jinja2"]),
    ("handlebars.json", &["handlebars", "handlebars-html"]),
    ("sk-handlebars.json", &["semantic-kernel-handlebars"]),
    ("dotprompt.json", &["dotprompt"]),
    ("dotprompt-spec.json", &["dotprompt"]),
    ("mustache.json", &["mustache", "mustache-html"]),
    ("mustache-spec.json", &["mustache"]),
    ("liquid.json", &["liquid", "semantic-kernel-liquid"]),
    (
        "semantic-kernel.json",
        &["semantic-kernel", "semantic-kernel-encoded"],
    ),
    ("sk-chat-prompt.json", &["semantic-kernel"]),
    ("f-string.json", &["f-string", "f-string-strict"]),
    ("prompty-spec.json", &["jinja", "mustache"]),
    ("hostile/templates_go.jsonl", &["go"]),
    ("hostile/templates_jinja.jsonl", &["jinja"]),
    ("hostile/templates_handlebars.jsonl", &["handlebars"]),
    ("hostile/templates_liquid.jsonl", &["liquid"]),
    ("hostile/templates_sk.jsonl", &["semantic-kernel"]),
    ("hostile/templates_fstring.jsonl", &["f-string"]),
];

/// Collects every text in a file that could be a template.
fn texts(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) if matches!(key, "template" | "text" | "source" | "partials") => {
            found.push(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, key, found)),
        Value::Object(fields) => {
            for (name, field) in fields {
                let key = if key == "partials" { key } else { name };
                texts(field, key, found);
            }
        }
        _ => {}
    }
}

pub(super) fn read(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(text) = std::fs::read_to_string(path) else {
        return found;
    };
    for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        texts(&value.expect("the file is JSON"), "", &mut found);
    }
    found
}

#[test]
fn references_have_tokens_at_their_places() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let conformance = root.join("../../conformance");
    let others = root.join("../../../shared/vectors");
    let factory = factory();
    let mut wrong = Vec::new();
    for (file, formats) in FILES {
        let mut found = read(&conformance.join(file));
        let own = *file != "dotprompt-spec.json"
            && *file != "mustache-spec.json"
            && *file != "prompty-spec.json";
        assert!(
            !own || !found.is_empty() || *file == "sk-chat-prompt.json",
            "{file} has templates"
        );
        found.extend(read(&others.join(file)));
        for name in *formats {
            let format = factory.format(name).expect("the format exists");
            let mut references = 0;
            for text in &found {
                references += one(&**format, text, &mut wrong);
            }
            println!(
                "{file}: {} templates in {name}, {references} references",
                found.len()
            );
        }
    }
    let shown = wrong
        .iter()
        .take(60)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(wrong.is_empty(), "{} of them:\n{shown}", wrong.len());
}

/// Checks a template and returns the number of checked references.
fn one(format: &dyn TemplateFormat, text: &str, wrong: &mut Vec<String>) -> usize {
    let tokens = tokens(format.name(), text);
    assert_fit(text, &tokens);
    let options = CompileOptions {
        missing: Missing::Default,
        ..CompileOptions::default()
    };
    let Ok(template) = format.compile(&[TemplateSource::new("t", text)], &options) else {
        return 0;
    };
    // Tokens before an error must not change.
    let broken = [text, " {{"].concat();
    // In Semantic Kernel, an unclosed tag is text.
    let is_open = format.name().starts_with("semantic-kernel") && !text.ends_with("}}");
    let still = super::tokens(format.name(), &broken);
    let before = still.get(..tokens.len()).unwrap_or(&still);
    if before != tokens && !is_open {
        wrong.push(format!(
            "{}: {text:?} has {tokens:?}, broken {still:?}",
            format.name()
        ));
    }
    let references = template.references();
    for variable in &references.variables {
        let name = variable.path.first().map_or("", String::as_str);
        // A quoted name is a string token: `{% include 'x' %}` passes the variable `x`.
        let quoted = |token: &SemanticToken| {
            let written = &text[token.span.start..token.span.end];
            token.kind == TokenKind::String && written.trim_matches(['"', '\'']) == name
        };
        let is_there = name.is_empty()
            || has(&tokens, variable.span, TokenKind::Variable)
            || within(&tokens, variable.span).any(quoted);
        if !is_there {
            wrong.push(format!(
                "{}: variable {variable:?} of {text:?}",
                format.name()
            ));
        }
    }
    for function in &references.functions {
        if !has(&tokens, function.span, TokenKind::Function) {
            wrong.push(format!(
                "{}: function {function:?} of {text:?}",
                format.name()
            ));
        }
    }
    references.variables.len() + references.functions.len()
}

/// Whether a span contains a token of this kind.
fn has(tokens: &[SemanticToken], span: Span, kind: TokenKind) -> bool {
    within(tokens, span).any(|token| token.kind == kind)
}

fn within(tokens: &[SemanticToken], span: Span) -> impl Iterator<Item = &SemanticToken> {
    let inside =
        move |token: &&SemanticToken| token.span.start >= span.start && token.span.end <= span.end;
    tokens.iter().filter(inside)
}
