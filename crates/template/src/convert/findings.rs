//! What a conversion has to say: refusals, and notes on what is exact for some
//! values only.

use quillet_core::{Diagnostic, Severity, Span};

/// The code of what is exact for some values only.
pub(super) const VALUES: &str = "convert.values";

/// More of one severity are not kept: each place takes a look through the source.
const MOST: usize = 100;

/// Parts inside each other that a tree can have, whose readers and writers recurse.
pub(crate) const DEEPEST: usize = 200;

/// Collects findings about one source.
#[derive(Debug)]
pub struct ConvertFindings<'s> {
    name: &'s str,
    text: &'s str,
    found: Vec<Diagnostic>,
}

impl<'s> ConvertFindings<'s> {
    /// For the source of that name and text.
    #[must_use]
    pub fn new(name: &'s str, text: &'s str) -> Self {
        ConvertFindings {
            name,
            text,
            found: Vec::new(),
        }
    }

    /// The text that the places are in.
    #[must_use]
    pub fn text(&self) -> &'s str {
        self.text
    }

    /// The source between two places.
    #[must_use]
    pub fn at(&self, span: Span) -> &'s str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// Something has no exact counterpart.
    pub fn refuse(&mut self, span: Span, message: impl Into<String>) {
        self.add(
            Diagnostic::error("convert.refused", self.name, message),
            span,
        );
    }

    /// Notes what has no counterpart; gives nothing, as whoever asks for a node then does.
    pub fn no_counterpart<T>(&mut self, span: Span, what: &str) -> Option<T> {
        let message = format!("{what} has no exact counterpart in other formats");
        self.refuse(span, message);
        None
    }

    /// The same as [`ConvertFindings::refuse`], with how to fix it.
    pub fn refuse_with(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let found = Diagnostic::error("convert.refused", self.name, message);
        self.add(found.help(help), span);
    }

    fn add(&mut self, found: Diagnostic, span: Span) {
        let alike = |one: &&Diagnostic| one.severity == found.severity;
        if self.found.iter().filter(alike).count() < MOST {
            self.found.push(found.at(self.text, span));
        }
    }

    /// Something is exact for some values only.
    pub fn note(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let found = Diagnostic::warning(VALUES, self.name, message);
        self.add(found.help(help), span);
    }

    /// Something that prints nothing is not carried over.
    pub fn leave_out(&mut self, span: Span, message: impl Into<String>) {
        self.add(
            Diagnostic::warning("convert.comment", self.name, message),
            span,
        );
    }

    /// Everything that was found, in order of place.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|found| found.span.map(|s| s.start));
        self.found.dedup();
        self.found
    }

    /// Whether something was refused.
    #[must_use]
    pub fn refused(&self) -> bool {
        let mut found = self.found.iter();
        found.any(|found| found.severity == Severity::Error)
    }
}
