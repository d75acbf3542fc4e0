//! Scripts of the Programmable Prompt Engine language.

use std::sync::Arc;

use quillet_core::Span;
use quillet_script::editor::{ScriptDocument, tokens};
use quillet_script::format::format;
use quillet_script::reader::read;
use quillet_script::syntax::{CallExpr, InstructionBlock, ItemKind, ScriptSource};

use crate::invariants;

/// Reads a script, and lays it out: twice laid out is laid out, and does the same.
pub fn script(text: &str) {
    let source = source(text);
    let read = read(Arc::clone(&source));
    for found in &read.diagnostics {
        invariants::diagnostic(text, found);
    }
    for function in &read.script.functions {
        place(text, function.span);
        place(text, function.code.span);
    }
    block(text, &read.script.body);
    let mut end = 0;
    for token in tokens(&ScriptDocument::new(Arc::clone(&source))) {
        assert!(token.span.start >= end && token.span.start < token.span.end);
        place(text, token.span);
        end = token.span.end;
    }
    match format(&source) {
        Ok(made) => {
            assert!(read.diagnostics.is_empty());
            let again = format(&self::source(&made));
            assert_eq!(again.as_deref(), Ok(made.as_str()), "of {text:?}");
        }
        Err(found) => assert!(!found.is_empty()),
    }
}

fn source(text: &str) -> Arc<ScriptSource> {
    Arc::new(ScriptSource {
        name: "s".to_owned(),
        path: None,
        text: text.into(),
    })
}

fn place(text: &str, span: Span) {
    assert!(text.get(span.start..span.end).is_some(), "{span:?}");
}

fn block(text: &str, block: &InstructionBlock) {
    for item in &block.items {
        place(text, item.span);
        match &item.kind {
            ItemKind::Message(message) => place(text, message.content.span),
            ItemKind::Separator { .. } => {}
            ItemKind::Call(made) => call(text, made),
            ItemKind::Chain(links) => links.iter().for_each(|link| call(text, link)),
            ItemKind::Expression(expression) => place(text, expression.span),
            ItemKind::Block(inner) => self::block(text, inner),
        }
    }
}

fn call(text: &str, call: &CallExpr) {
    place(text, call.span);
    place(text, call.name.span);
    if let Some(arguments) = &call.arguments {
        place(text, arguments.span);
    }
    for branch in &call.branches {
        place(text, branch.key.span);
        block(text, &branch.block);
    }
}
