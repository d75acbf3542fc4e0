//! Completion items for a position in a template.

use std::collections::HashSet;

use quillet_core::{Span, TokenKind};
use serde::Serialize;

/// External names that a template can use.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExternalNames<'a> {
    /// Names of variables, which are the first key of each path.
    pub variables: &'a [String],
    /// Names of late-bound functions, such as tools.
    pub functions: &'a [String],
}

/// A completion item. Items are not filtered by the typed text (the text at
/// [`CompletionItem::span`]). The editor filters them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CompletionItem {
    /// Label in the list. The label is also the inserted text.
    pub label: String,
    /// Kind of the item.
    pub kind: TokenKind,
    /// Short description, such as `filter` or `block`.
    pub detail: String,
    /// Byte range to replace: the word at the position, or an empty range.
    pub span: Span,
}

/// Completion items of one position, without duplicate labels.
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

    /// Adds words of the same kind.
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

    /// Adds late-bound functions, followed by the format's own functions.
    pub(crate) fn functions(&mut self, names: &ExternalNames<'_>, own: &[&str], detail: &str) {
        let tools = names.functions.iter().map(String::as_str);
        self.add(TokenKind::Function, "function", tools);
        self.add(TokenKind::Function, detail, own.iter().copied());
    }

    pub(crate) fn done(self) -> Vec<CompletionItem> {
        self.found
    }
}
