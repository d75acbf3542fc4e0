//! What editors are told about templates.

mod completions;
mod published;
mod random;
mod tables;

use quillet_core::{SemanticToken, TokenKind};
use quillet_template::{CompileLimits, TemplateFactory, editor};

/// Every format, and what stands for one in each of its settings.
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

/// That tokens are in order, apart, in the text, and no part of a character.
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

/// Tokens as a text: `variable:name`.
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
