//! Buffer for the literal text of one source.

use std::ops::Range;

use quillet_core::Diagnostic;

use crate::structure::{Elements, MessageSyntax};

/// Literal texts in source order, with marks of message structure.
#[derive(Debug)]
pub(crate) struct Literals {
    text: String,
    elements: Option<Elements>,
}

impl Literals {
    /// Creates an empty buffer for a source of this size.
    pub(crate) fn new(bytes: usize, messages: MessageSyntax) -> Self {
        Literals {
            text: String::with_capacity(bytes),
            elements: (messages == MessageSyntax::Elements).then(Elements::default),
        }
    }

    /// Adds a text, which begins at `at` in the source. Returns its range in the buffer.
    pub(crate) fn add(&mut self, literal: &str, at: usize) -> Range<usize> {
        let start = self.text.len();
        match &mut self.elements {
            Some(elements) => self.text.push_str(&elements.mark_at(literal, at)),
            None => self.text.push_str(literal),
        }
        start..self.text.len()
    }

    /// Returns the errors in the messages of a source that always prints all of its texts in order.
    pub(crate) fn diagnostics(&self, name: &str, source: &str) -> Vec<Diagnostic> {
        let elements = self.elements.as_ref();
        elements.map_or_else(Vec::new, |elements| elements.diagnostics(name, source))
    }

    /// Returns the buffer.
    pub(crate) fn into_text(self) -> Box<str> {
        self.text.into_boxed_str()
    }
}
