//! What must hold for any text in any format. A target of [libFuzzer] hands a
//! text to one of these functions; a panic is a finding.
//!
//! [libFuzzer]: https://llvm.org/docs/LibFuzzer.html

mod invariants;
mod world;

use std::sync::{Arc, LazyLock};

use quillet_core::Map;
use quillet_template::{
    CompileError, CompileLimits, CompileOptions, Limits, MessageSyntax, Missing, Render,
    RenderError, Rendered, Source, Template, TemplateFactory, render,
};

use invariants::references;
use world::{FUNCTIONS, VARIABLES};

static FACTORY: LazyLock<TemplateFactory> = LazyLock::new(TemplateFactory::standard);

/// Small bounds, so that they are reached; time is libFuzzer's own affair.
const LIMITS: Limits = Limits {
    output_bytes: 4 << 10,
    memory_bytes: 64 << 10,
    steps: 20_000,
    nesting: 20,
    passes: 4,
    calls: 12,
    concurrency: 4,
    time: std::time::Duration::from_secs(60),
};

/// What stands between the text of the entry and the text of its library.
const SEPARATOR: char = '\u{1e}';

/// Compiles and renders a text, and with it a second one that it may call as
/// `p`; then writes the text as a literal and expects it back.
pub fn template(format: &str, text: &str) {
    if invariants::knows_the_secret(text) {
        return;
    }
    let (main, library) = text.split_once(SEPARATOR).unwrap_or((text, "[{{x}}]"));
    let sources = [Source::new("main", main), Source::library("p", library)];
    for (missing, messages) in [
        (Missing::Default, MessageSyntax::Plain),
        (Missing::Strict, MessageSyntax::Elements),
    ] {
        let options = CompileOptions {
            missing,
            messages,
            trusted: vec!["markup".to_owned()],
            limits: CompileLimits {
                source_bytes: 1 << 16,
                nesting: 40,
            },
        };
        match FACTORY.compile(format, &sources, &options) {
            Ok(template) => rendering(&sources, template.as_ref()),
            Err(error) => invariants::diagnostics(&sources, &error),
        }
    }
    escaping(format, text);
}

/// Renders, and renders again with nothing but what the references name.
fn rendering(sources: &[Source<'_>], template: &dyn Template) {
    references(sources, template.references());
    let rendered = match run(template, &VARIABLES, &LIMITS) {
        Ok(rendered) => rendered,
        Err(error) => return invariants::render_error(sources, &error),
    };
    invariants::calls(template.references(), &world::take_calls());
    let text = invariants::text(&rendered, &LIMITS);
    invariants::messages(&rendered);
    if template.references().dynamic {
        return;
    }
    let named = world::named(template.references());
    let text_of = |variables: &Map| {
        let texts = run(template, variables, &LIMITS).map(Rendered::into_bytes);
        texts.map(|mut texts| texts.swap_remove(0))
    };
    let is_same = |variables| text_of(variables).is_ok_and(|again| again == text);
    // Random values and the time differ from render to render.
    let same = is_same(&named) || (0..20).any(|_| is_same(&named) || !is_same(&VARIABLES));
    assert!(
        same,
        "{:?} with all variables, {:?} with {named:?}",
        String::from_utf8_lossy(&text),
        text_of(&named).map(|again| String::from_utf8_lossy(&again).into_owned()),
    );
}

fn run(
    template: &dyn Template,
    variables: &Map,
    limits: &Limits,
) -> Result<Rendered, Box<RenderError>> {
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
fn escaping(format: &str, text: &str) {
    let found = FACTORY.format(format).expect("the target's format exists");
    let Some(escaped) = found.escape(text) else {
        return;
    };
    let compiled = compile_literal(format, &escaped);
    let template = compiled.unwrap_or_else(|error| panic!("{escaped:?}: {error}"));
    let rendered = run(template.as_ref(), &Map::default(), &Limits::default());
    let rendered = rendered.unwrap_or_else(|error| panic!("{escaped:?}: {error}"));
    assert_eq!(rendered.text(0), text, "as {escaped:?}");
}

fn compile_literal(format: &str, text: &str) -> Result<Arc<dyn Template>, CompileError> {
    FACTORY.compile(
        format,
        &[Source::new("main", text)],
        &CompileOptions::default(),
    )
}
