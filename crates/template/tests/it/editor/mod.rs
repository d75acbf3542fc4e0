//! Syntax tokens and completion items.

mod completions;
mod published;
mod random;
mod tables;

use quillet_core::{SemanticToken, TokenKind};
use quillet_template::{CompileLimits, TemplateFactory, editor};

/// The standard formats, and formats for the remaining settings.
fn factory() -> TemplateFactory {
    use quillet_template::format::jinja::JinjaFormat;
    use quillet_template::format::semantic_kernel::{Encoding, SemanticKernelFormat};
    TemplateFactory::standard()
        .with(JinjaFormat::script())
        .with(SemanticKernelFormat::encoded(Encoding::default()))
}

fn tokens(format: &str, text: &str) -> Vec<SemanticToken> {
    let factory = factory();
    let format = factory.format(format).expect("the format exists");
    editor::tokens(&**format, text, &CompileLimits::default())
}

/// Asserts that tokens are ordered, disjoint, inside the text and at character boundaries.
fn assert_fit(text: &str, tokens: &[SemanticToken]) {
    let mut end = 0;
    for token in tokens {
        let span = token.span;
        assert!(
            span.start >= end && span.start < span.end,
            "{token:?} in {text:?}"
        );
        assert!(
            text.get(span.start..span.end).is_some(),
            "{token:?} in {text:?}"
        );
        end = span.end;
    }
}

/// Formats tokens as text, such as `v:name` for a variable.
fn shown(format: &str, text: &str) -> String {
    let tokens = tokens(format, text);
    assert_fit(text, &tokens);
    let show = |token: &SemanticToken| {
        let letter = match token.kind {
            TokenKind::Comment => 'c',
            TokenKind::Delimiter => 'd',
            TokenKind::Keyword => 'k',
            TokenKind::Function => 'f',
            TokenKind::Number => 'n',
            TokenKind::Operator => 'o',
            TokenKind::Property => 'p',
            TokenKind::Role => 'r',
            TokenKind::String => 's',
            TokenKind::Variable => 'v',
        };
        format!("{letter}:{}", &text[token.span.start..token.span.end])
    };
    tokens.iter().map(show).collect::<Vec<_>>().join(" ")
}
