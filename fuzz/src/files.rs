//! Prompt files.

use quillet_core::Diagnostic;
use quillet_prompt::Prompt;
use quillet_prompt::file::{NoEnvironment, PromptFile, read, tokens};
use quillet_template::{CompileOptions, TemplateSource};

use crate::invariants;
use crate::templates::{COMPILE_LIMITS, FACTORY, SEPARATOR, run};
use crate::world::VARIABLES;

/// Reads a file of that name, and compiles and renders what it says. What
/// stands behind a separator is the configuration beside it.
pub fn prompt_file(name: &str, text: &str) {
    if invariants::knows_the_secret(text) {
        return;
    }
    let (text, config) = match text.split_once(SEPARATOR) {
        Some((text, config)) => (text, Some(("config.json", config))),
        None => (text, None),
    };
    let file = PromptFile {
        id: "x",
        name,
        text,
        config,
    };
    colours(name, text);
    match read(&file, &NoEnvironment) {
        Ok((prompt, warnings)) => {
            warnings.iter().for_each(|found| finding(&file, found));
            rendering(&file, &prompt);
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.iter().for_each(|found| finding(&file, found));
        }
    }
}

/// Tokens for an editor are in order, apart and in the text.
fn colours(name: &str, text: &str) {
    let found = tokens(name, text, &FACTORY, &COMPILE_LIMITS).unwrap_or_default();
    let mut end = 0;
    for token in found {
        assert!(token.span.start >= end && token.span.start < token.span.end);
        assert!(text.get(token.span.start..token.span.end).is_some());
        end = token.span.end;
    }
}

/// A finding says something, at a place of its file.
fn finding(file: &PromptFile<'_>, found: &Diagnostic) {
    let config = file.config.filter(|(name, _)| *name == found.source);
    let text = config.map_or(file.text, |(_, text)| text);
    invariants::diagnostic(text, found);
}

fn rendering(file: &PromptFile<'_>, prompt: &Prompt) {
    let options = CompileOptions {
        missing: prompt.missing,
        messages: prompt.messages,
        trusted: prompt.trusted.clone(),
        limits: COMPILE_LIMITS,
        ..CompileOptions::default()
    };
    for (_, text) in prompt.templates() {
        let sources = [
            TemplateSource::new("main", text),
            TemplateSource::library("p", "[{{x}}]"),
        ];
        let template = match FACTORY.compile(&prompt.format, &sources, &options) {
            Ok(template) => template,
            Err(error) => {
                let located = error
                    .diagnostics
                    .into_iter()
                    .map(|found| prompt.locate(found));
                return located.for_each(|found| finding(file, &found));
            }
        };
        let Ok(variables) = prompt.bind(&VARIABLES) else {
            return;
        };
        match run(template.as_ref(), &variables) {
            Ok(rendered) => {
                invariants::text(&rendered);
                invariants::messages(&rendered);
            }
            Err(error) => invariants::render_error(&sources, &error),
        }
    }
}
