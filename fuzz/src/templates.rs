//! Template languages.

use std::sync::{Arc, LazyLock};

use quillet_core::Map;
use quillet_template::{
    CompileError, CompileLimits, CompileOptions, CompiledTemplate, MessageSyntax, Missing, Render,
    RenderError, RenderLimits, RenderedTemplate, TemplateFactory, TemplateFormat, TemplateSource,
    editor, render,
};

use crate::invariants;
use crate::world::{self, FUNCTIONS, VARIABLES};

pub(crate) static FACTORY: LazyLock<TemplateFactory> = LazyLock::new(TemplateFactory::standard);

/// Small bounds, so that they are reached; time is libFuzzer's own affair.
pub(crate) const LIMITS: RenderLimits = RenderLimits {
    output_bytes: 4 << 10,
    memory_bytes: 64 << 10,
    steps: 20_000,
    nesting: 20,
    passes: 4,
    calls: 12,
    concurrency: 4,
    time: std::time::Duration::from_secs(60),
};

pub(crate) const COMPILE_LIMITS: CompileLimits = CompileLimits {
    source_bytes: 1 << 16,
    nesting: 40,
};

/// What stands between the text of the entry and the text of its library.
pub(crate) const SEPARATOR: char = '\u{1e}';

/// Compiles and renders a text in formats that share a parser, and with it a
/// second text that it may call as `p`; then writes the text as a literal and
/// expects it back.
pub fn template(formats: &[&str], text: &str) {
    if invariants::knows_the_secret(text) {
        return;
    }
    for name in formats {
        let format = FACTORY.format(name).expect("the target's format exists");
        for (missing, messages) in [
            (Missing::Default, MessageSyntax::Plain),
            (Missing::Strict, MessageSyntax::Elements),
            (Missing::Zero, MessageSyntax::RoleLines),
        ] {
            one(&**format, text, missing, messages);
        }
        escaping(&**format, text);
        colours(&**format, text);
    }
}

/// Reads a text for an editor: its tokens are in order, apart and in the text; what could be written
/// at a place is written over a part of the text.
fn colours(format: &dyn TemplateFormat, text: &str) {
    let mut end = 0;
    for token in editor::tokens(format, text, &COMPILE_LIMITS) {
        assert!(token.span.start >= end && token.span.start < token.span.end);
        assert!(text.get(token.span.start..token.span.end).is_some());
        end = token.span.end;
    }
    let variables = ["x".to_owned()];
    let names = editor::ExternalNames {
        variables: &variables,
        functions: &variables,
    };
    for at in [end, text.len() / 2, text.len()] {
        for found in editor::completions(format, text, at, &names, &COMPILE_LIMITS) {
            assert!(text.get(found.span.start..found.span.end).is_some());
        }
    }
}

fn one(format: &dyn TemplateFormat, text: &str, missing: Missing, messages: MessageSyntax) {
    let (main, library) = text.split_once(SEPARATOR).unwrap_or((text, "[{{x}}]"));
    let sources = [
        TemplateSource::new("main", main),
        TemplateSource::library("p", library),
    ];
    let options = CompileOptions {
        missing,
        messages,
        trusted: vec!["markup".to_owned()],
        limits: COMPILE_LIMITS,
        ..CompileOptions::default()
    };
    match FACTORY.compile(format.name(), &sources, &options) {
        Ok(template) => rendering(format, &sources, template.as_ref()),
        Err(error) => invariants::diagnostics(&sources, &error),
    }
}

/// Renders, and renders again with nothing but what the references name.
fn rendering(
    format: &dyn TemplateFormat,
    sources: &[TemplateSource<'_>],
    template: &dyn CompiledTemplate,
) {
    let references = template.references();
    invariants::references(sources, references);
    let rendered = match run(template, &VARIABLES) {
        Ok(rendered) => rendered,
        Err(error) => return invariants::render_error(sources, &error),
    };
    let calls = world::take_calls();
    invariants::calls(format, references, &calls);
    let text = invariants::text(&rendered);
    invariants::messages(&rendered);
    if references.dynamic {
        return;
    }
    let named = world::named(references, &calls);
    let is_same = |variables| text_of(template, variables).is_ok_and(|again| again == text);
    // Random values and the time differ from render to render.
    let same = is_same(&named) || (0..20).any(|_| is_same(&named) || !is_same(&VARIABLES));
    assert!(
        same,
        "{:?} with all variables, {:?} with {named:?}",
        String::from_utf8_lossy(&text),
        text_of(template, &named).map(|again| String::from_utf8_lossy(&again).into_owned()),
    );
}

fn text_of(template: &dyn CompiledTemplate, variables: &Map) -> Result<Vec<u8>, Box<RenderError>> {
    let texts = run(template, variables).map(RenderedTemplate::into_bytes);
    texts.map(|mut texts| texts.swap_remove(0))
}

pub(crate) fn run(
    template: &dyn CompiledTemplate,
    variables: &Map,
) -> Result<RenderedTemplate, Box<RenderError>> {
    run_within(template, variables, &LIMITS)
}

fn run_within(
    template: &dyn CompiledTemplate,
    variables: &Map,
    limits: &RenderLimits,
) -> Result<RenderedTemplate, Box<RenderError>> {
    world::take_calls();
    world::block_on(render(&Render {
        template,
        entries: &["main"],
        variables,
        functions: &FUNCTIONS,
        limits,
    }))
}

/// A text that is written as a literal is printed as it is.
fn escaping(format: &dyn TemplateFormat, text: &str) {
    let Some(escaped) = format.escape(text) else {
        return;
    };
    let compiled = compile_literal(format, &escaped);
    let template = compiled.unwrap_or_else(|error| panic!("{escaped:?}: {error}"));
    let rendered = run_within(template.as_ref(), &Map::default(), &RenderLimits::default());
    let rendered = rendered.unwrap_or_else(|error| panic!("{escaped:?}: {error}"));
    assert_eq!(rendered.text(0), text, "as {escaped:?}");
}

fn compile_literal(
    format: &dyn TemplateFormat,
    text: &str,
) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
    format.compile(
        &[TemplateSource::new("main", text)],
        &CompileOptions::default(),
    )
}
