//! What is checked of every outcome.

use std::sync::LazyLock;

use quillet_core::{Position, Span, Value, json};
use quillet_template::structure;
use quillet_template::{
    Arguments, ChatMessage, CompileError, Limits, Part, References, RenderError, Rendered, Source,
};

/// What every mark of message structure begins with in this process.
static SECRET: LazyLock<String> = LazyLock::new(|| {
    let mark = structure::role("user");
    let end = mark.find('(').expect("a directive opens a parenthesis");
    mark[..end].to_owned()
});

/// libFuzzer watches comparisons, and so learns what nobody outside can know.
pub(crate) fn knows_the_secret(text: &str) -> bool {
    let hexadecimal = SECRET.trim_start_matches(|lead: char| !lead.is_ascii());
    text.contains(&hexadecimal[..6])
}

/// A place inside its text, between characters.
fn place(text: &str, span: Span) {
    assert!(span.start <= span.end, "{span:?}");
    assert!(
        text.is_char_boundary(span.start),
        "{span:?} of {}",
        text.len()
    );
    assert!(
        text.is_char_boundary(span.end),
        "{span:?} of {}",
        text.len()
    );
}

fn named<'a>(sources: &[Source<'a>], name: &str) -> &'a str {
    let source = sources.iter().find(|source| source.name == name);
    source
        .unwrap_or_else(|| panic!("no source is called {name:?}"))
        .text
}

/// A refusal says something, about a source that exists, at a place in it.
pub(crate) fn diagnostics(sources: &[Source<'_>], error: &CompileError) {
    assert!(!error.message.is_empty() && !error.diagnostics.is_empty());
    for diagnostic in &error.diagnostics {
        assert!(!diagnostic.message.is_empty());
        unmarked(&diagnostic.to_string());
        let text = named(sources, &diagnostic.source);
        if let Some(span) = diagnostic.span {
            place(text, span);
            assert_eq!(diagnostic.position, Some(Position::of(text, span.start)));
        }
    }
}

/// So does the error of a render, where it knows the source.
pub(crate) fn render_error(sources: &[Source<'_>], error: &RenderError) {
    assert!(!error.message.is_empty() && !error.reason.is_empty());
    unmarked(&error.message);
    if let Some(span) = error.span {
        place(named(sources, &error.source_name), span);
    }
}

/// Every place of the references is one, and every name says something.
pub(crate) fn references(sources: &[Source<'_>], references: &References) {
    for variable in &references.variables {
        assert!(!variable.path.is_empty());
        place(sources[variable.source].text, variable.span);
    }
    for function in &references.functions {
        place(sources[function.source].text, function.span);
    }
}

/// Only functions that the references name are called, and none sees a mark.
pub(crate) fn calls(references: &References, calls: &[(String, Arguments)]) {
    for (name, arguments) in calls {
        let known = |known: &str| bare(known).eq_ignore_ascii_case(bare(name));
        let listed = references.functions.iter().any(|one| known(&one.name));
        let variable = |path: &[String]| path.first().is_some_and(|root| known(root));
        let bound = references.variables.iter().any(|one| variable(&one.path));
        assert!(
            listed || bound || references.dynamic,
            "{name} is not referenced"
        );
        let positional = arguments.positional.iter().cloned();
        let named = Value::Map(arguments.named.clone());
        for value in positional.chain([named]) {
            unmarked(&json::to_string(&value));
        }
    }
}

/// A function's name without that of its plugin.
fn bare(name: &str) -> &str {
    name.rsplit(['.', '-', '_']).next().unwrap_or(name)
}

/// The text of the entry: within its limit, without marks.
pub(crate) fn text(rendered: &Rendered, limits: &Limits) -> Vec<u8> {
    let text = rendered.clone().into_bytes().swap_remove(0);
    assert!(text.len() <= limits.output_bytes);
    unmarked(&String::from_utf8_lossy(&text));
    text
}

/// What leaves as messages has no marks either.
pub(crate) fn messages(rendered: &Rendered) {
    let history = [ChatMessage::text("user", "before")];
    for message in rendered.messages(0, &history).unwrap_or_default() {
        unmarked(&message.role);
        unmarked(&json::to_string(&Value::Map(message.metadata)));
        message.parts.iter().for_each(part);
    }
}

fn part(part: &Part) {
    match part {
        Part::Text(text) => unmarked(text),
        Part::Media { url, .. } => unmarked(url),
        Part::Pending(map) => unmarked(&json::to_string(&Value::Map(map.clone()))),
    }
}

fn unmarked(text: &str) {
    assert!(!text.contains(SECRET.as_str()), "a mark leaves: {text:?}");
}
