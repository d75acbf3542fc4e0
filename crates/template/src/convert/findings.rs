//! Diagnostics of a conversion: errors for parts without a counterpart, warnings for parts that are
//! exact for some values only.

use quillet_core::{Diagnostic, Severity, Span};

/// Diagnostic code for a result that is exact for some values only.
pub(super) const VALUES: &str = "convert.values";

/// Maximum number of diagnostics per severity: each location costs a scan of the source.
const MOST: usize = 100;

/// Maximum depth of a tree, because its readers and writers recurse.
pub(crate) const DEEPEST: usize = 200;

/// Collects diagnostics about one source.
///
/// # Examples
///
/// ```
/// use quillet_core::Span;
/// use quillet_template::convert::ConvertFindings;
///
/// let mut findings = ConvertFindings::new("greet", "{{ name|upper }}");
/// findings.leave_out(Span { start: 0, end: 2 }, "this comment is omitted");
/// assert!(!findings.refused());
/// findings.reject(Span { start: 8, end: 13 }, "filters have no counterpart");
/// assert!(findings.refused());
/// assert_eq!(findings.into_sorted().len(), 2);
/// ```
#[derive(Debug)]
pub struct ConvertFindings<'s> {
    name: &'s str,
    text: &'s str,
    found: Vec<Diagnostic>,
}

impl<'s> ConvertFindings<'s> {
    /// Creates a collector for a source with this name and text.
    #[must_use]
    pub fn new(name: &'s str, text: &'s str) -> Self {
        ConvertFindings {
            name,
            text,
            found: Vec::new(),
        }
    }

    /// Returns the source text.
    #[must_use]
    pub fn text(&self) -> &'s str {
        self.text
    }

    /// Returns the source text in this span.
    #[must_use]
    pub fn slice(&self, span: Span) -> &'s str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// Reports an error for an element that has no exact counterpart in the other format.
    pub fn reject(&mut self, span: Span, message: impl Into<String>) {
        self.add(
            Diagnostic::error("convert.refused", self.name, message),
            span,
        );
    }

    /// Reports an error for an element that has no counterpart in other formats. Always returns
    /// `None`, so the caller can return the result instead of a node.
    pub fn no_counterpart<T>(&mut self, span: Span, what: &str) -> Option<T> {
        let message = format!("{what} has no exact counterpart in other formats");
        self.reject(span, message);
        None
    }

    /// Reports an error like [`ConvertFindings::reject`], and also suggests a fix.
    pub fn reject_with_help(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let found = Diagnostic::error("convert.refused", self.name, message);
        self.add(found.help(help), span);
    }

    fn add(&mut self, found: Diagnostic, span: Span) {
        let alike = |one: &&Diagnostic| one.severity == found.severity;
        if self.found.iter().filter(alike).count() < MOST {
            self.found.push(found.at(self.text, span));
        }
    }

    /// Adds a warning that the result is exact only for some values.
    pub fn note(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let found = Diagnostic::warning(VALUES, self.name, message);
        self.add(found.help(help), span);
    }

    /// Adds a warning that the result omits an element that prints nothing.
    pub fn leave_out(&mut self, span: Span, message: impl Into<String>) {
        self.add(
            Diagnostic::warning("convert.comment", self.name, message),
            span,
        );
    }

    /// Returns all diagnostics, ordered by location.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|found| found.span.map(|s| s.start));
        self.found.dedup();
        self.found
    }

    /// Returns whether there is an error.
    #[must_use]
    pub fn refused(&self) -> bool {
        let mut found = self.found.iter();
        found.any(|found| found.severity == Severity::Error)
    }
}
