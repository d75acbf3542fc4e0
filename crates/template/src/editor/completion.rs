//! What could stand at a place.

use std::collections::HashSet;

use quillet_core::{Span, TokenKind};
use serde::Serialize;

/// Names from outside of a template that it could use.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExternalNames<'a> {
    /// Variables, by the first part of their paths.
    pub variables: &'a [String],
    /// Functions that are bound late: tools.
    pub functions: &'a [String],
}

/// One thing that could stand at a place. A list of these is not narrowed to what is typed already:
/// that is the text of [`CompletionItem::span`], and how it is compared is the editor's affair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CompletionItem {
    /// What it is called in the list, and what is written.
    pub label: String,
    /// What it is.
    pub kind: TokenKind,
    /// A few words beside it: `filter`, `block`.
    pub detail: String,
    /// The bytes that it is written over: the word at the place, or nothing there.
    pub span: Span,
}

/// Completions of one place, each label once.
#[derive(Debug)]
pub(crate) struct CompletionList {
    span: Span,
    known: HashSet<String>,
    found: Vec<CompletionItem>,
}

impl CompletionList {
    pub(crate) fn new(span: Span) -> Self {
        CompletionList {
            span,
            known: HashSet::new(),
            found: Vec::new(),
        }
    }

    /// Adds words of one kind.
    pub(crate) fn add<L: Into<String>>(
        &mut self,
        kind: TokenKind,
        detail: &str,
        labels: impl IntoIterator<Item = L>,
    ) {
        for label in labels {
            let label = label.into();
            if self.known.insert(label.clone()) {
                self.found.push(CompletionItem {
                    label,
                    kind,
                    detail: detail.to_owned(),
                    span: self.span,
                });
            }
        }
    }

    pub(crate) fn keywords(&mut self, detail: &str, words: &[&str]) {
        self.add(TokenKind::Keyword, detail, words.iter().copied());
    }

    pub(crate) fn variables(&mut self, names: &ExternalNames<'_>) {
        let variables = names.variables.iter().map(String::as_str);
        self.add(TokenKind::Variable, "variable", variables);
    }

    /// Functions from outside, then the format's own.
    pub(crate) fn functions(&mut self, names: &ExternalNames<'_>, own: &[&str], detail: &str) {
        let tools = names.functions.iter().map(String::as_str);
        self.add(TokenKind::Function, "function", tools);
        self.add(TokenKind::Function, detail, own.iter().copied());
    }

    pub(crate) fn done(self) -> Vec<CompletionItem> {
        self.found
    }
}
