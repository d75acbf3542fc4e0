//! What is checked of every outcome.

use std::sync::LazyLock;

use quillet_core::{Diagnostic, LineColumn, Span, Value, json};
use quillet_template::structure;
use quillet_template::{
    CallArguments, ChatMessage, CompileError, MessagePart, References, RenderError,
    RenderedTemplate, TemplateFormat, TemplateSource,
};

use crate::templates::LIMITS;
use crate::world;

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

fn named<'a>(sources: &[TemplateSource<'a>], name: &str) -> &'a str {
    let source = sources.iter().find(|source| source.name == name);
    source
        .unwrap_or_else(|| panic!("no source is called {name:?}"))
        .text
}

/// A refusal says something, about a source that exists, at a place in it.
pub(crate) fn diagnostics(sources: &[TemplateSource<'_>], error: &CompileError) {
    assert!(!error.message.is_empty() && !error.diagnostics.is_empty());
    for found in &error.diagnostics {
        diagnostic(named(sources, &found.source), found);
    }
}

/// A finding says something, at a place of the text.
pub(crate) fn diagnostic(text: &str, found: &Diagnostic) {
    assert!(!found.message.is_empty());
    unmarked(&found.to_string());
    if let Some(span) = found.span {
        place(text, span);
        assert_eq!(found.position, Some(LineColumn::of(text, span.start)));
    }
}

/// So does the error of a render, where it knows the source.
pub(crate) fn render_error(sources: &[TemplateSource<'_>], error: &RenderError) {
    assert!(!error.message.is_empty() && !error.reason.is_empty());
    unmarked(&error.message);
    if let Some(span) = error.span {
        place(named(sources, &error.source_name), span);
    }
}

/// Every place of the references is one, and every name says something.
pub(crate) fn references(sources: &[TemplateSource<'_>], references: &References) {
    for variable in &references.variables {
        assert!(!variable.path.is_empty());
        place(sources[variable.source].text, variable.span);
    }
    for function in &references.functions {
        place(sources[function.source].text, function.span);
    }
}

/// Only functions that the references name are called, and none sees a mark.
pub(crate) fn calls(
    format: &dyn TemplateFormat,
    references: &References,
    calls: &[(String, CallArguments)],
) {
    for (name, arguments) in calls {
        let means = |written: &str| format.resolve(written, &world::NAMES) == Some(name);
        let listed = references.functions.iter().any(|one| means(&one.name));
        let called = |path: &[String]| means(&path.join(".")) || means(&path[0]);
        let mut variables = references.variables.iter();
        let bound = format.calls_by_variable() && variables.any(|one| called(&one.path));
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

/// The text of the entry: within its limit, without marks.
pub(crate) fn text(rendered: &RenderedTemplate) -> Vec<u8> {
    let text = rendered.clone().into_bytes().swap_remove(0);
    assert!(text.len() <= LIMITS.output_bytes);
    unmarked(&String::from_utf8_lossy(&text));
    text
}

/// What leaves as messages has no marks either.
pub(crate) fn messages(rendered: &RenderedTemplate) {
    let history = [ChatMessage::text("user", "before")];
    chat(&rendered.messages(0, &history).unwrap_or_default());
}

/// Messages without marks.
pub(crate) fn chat(messages: &[ChatMessage]) {
    for message in messages {
        unmarked(&message.role);
        unmarked(&json::to_string(&Value::Map(message.metadata.clone())));
        message.parts.iter().for_each(part);
    }
}

fn part(part: &MessagePart) {
    match part {
        MessagePart::Text(text) => unmarked(text),
        MessagePart::Media { url, .. } => unmarked(url),
        MessagePart::Pending(map) => unmarked(&json::to_string(&Value::Map(map.clone()))),
    }
}

fn unmarked(text: &str) {
    assert!(!text.contains(SECRET.as_str()), "a mark leaves: {text:?}");
}
