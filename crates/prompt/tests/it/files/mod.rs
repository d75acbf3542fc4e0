//! Prompt files: parsed prompts, and diagnostics of invalid files.

mod dotprompt;
mod findings;
mod prompty;
mod semantic_kernel;
mod vectors;

use quillet_core::Map;
use quillet_prompt::file::{self, NoEnvironment, PromptFile};
use quillet_prompt::{CheckResult, Prompt};
use quillet_template::structure::{ChatMessage, MessagePart};
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, RenderedTemplate, TemplateFactory,
    TemplateSource, render_segments,
};
use serde_json::{Value as Tree, json};

/// Parses a file without an environment.
fn read(name: &str, text: &str) -> CheckResult<Prompt> {
    let file = PromptFile {
        id: file::stem(name),
        name,
        text,
        config: None,
    };
    file::read(&file, &NoEnvironment)
}

fn read_well(name: &str, text: &str) -> Prompt {
    let (prompt, warnings) = read(name, text).unwrap();
    assert!(warnings.is_empty(), "{name}: {warnings:?}");
    prompt
}

/// Renders a single-text prompt with bound variables, and records the origin of each segment.
fn rendered(
    prompt: &Prompt,
    partials: &[(String, String)],
    variables: &Map,
) -> Result<RenderedTemplate, String> {
    let options = CompileOptions {
        missing: prompt.missing,
        messages: prompt.messages,
        trusted: prompt.trusted.clone(),
        trusted_results: prompt.trusted_results,
        ..CompileOptions::default()
    };
    let templates = prompt.templates();
    let (name, text) = &templates[0];
    let mut sources = vec![TemplateSource::new(name, text)];
    let library =
        |(name, text): &'_ (String, String)| -> (String, String) { (name.clone(), text.clone()) };
    let partials: Vec<_> = partials.iter().map(library).collect();
    sources.extend(
        partials
            .iter()
            .map(|(name, text)| TemplateSource::library(name, text)),
    );
    let template = TemplateFactory::standard()
        .compile(&prompt.format, &sources, &options)
        .map_err(|error| error.to_string())?;
    let bound = prompt
        .bind(variables)
        .map_err(|problems| format!("{problems:?}"))?;
    let work = Render {
        template: template.as_ref(),
        entries: &[name],
        variables: &bound,
        functions: &NoFunctions,
        limits: &RenderLimits::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime
        .block_on(render_segments(&work))
        .map_err(|error| error.to_string())
}

/// Writes messages in the notation of the dotprompt and prompty vectors. The two differ in their
/// parts.
fn written(messages: &[ChatMessage], part: fn(&MessagePart) -> Tree) -> Tree {
    let message = |message: &ChatMessage| {
        let parts: Vec<Tree> = message.parts.iter().map(part).collect();
        let mut written = json!({"role": message.role, "content": parts});
        if !message.metadata.is_empty() {
            written["metadata"] = serde_json::to_value(&message.metadata).unwrap();
        }
        written
    };
    messages.iter().map(message).collect()
}

/// Whether all expected parts are present. Additional parts are ignored.
fn contains(got: &Tree, expected: &Tree) -> bool {
    match (got, expected) {
        (Tree::Object(got), Tree::Object(expected)) => expected
            .iter()
            .all(|(key, value)| contains(got.get(key).unwrap_or(&Tree::Null), value)),
        (Tree::Array(got), Tree::Array(expected)) => {
            got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| contains(a, b))
        }
        (Tree::Number(a), Tree::Number(b)) => a.as_f64() == b.as_f64(),
        _ => got == expected,
    }
}
