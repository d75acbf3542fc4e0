//! Problems in a text, before they become diagnostics.

use quillet_core::Span;

/// A diagnostic whose line and column are not yet computed.
///
/// # Examples
///
/// ```
/// use quillet_core::Span;
/// use quillet_yaml::{Options, Reader, YamlProblem};
///
/// let mut reader = Reader::new("user.yaml", "nmae: Ada\n", Options::default());
/// let problem = YamlProblem::new(Span { start: 0, end: 4 }, "unknown key `nmae`");
/// reader.report(problem.help("write `name`"));
/// let findings = reader.finish();
/// assert_eq!(findings[0].to_string(), "user.yaml:1:1: unknown key `nmae` (write `name`)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlProblem {
    /// Span in the file.
    pub span: Span,
    /// Message in one sentence, without a full stop.
    pub message: String,
    /// Location of the first occurrence. The line number is appended to the message.
    pub first: Option<Span>,
    /// How to fix the problem.
    pub help: Option<String>,
}

impl YamlProblem {
    /// Creates a problem at a location.
    #[must_use]
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        YamlProblem {
            span,
            message: message.into(),
            first: None,
            help: None,
        }
    }

    /// Adds the location of the first occurrence.
    #[must_use]
    pub fn first(mut self, first: Span) -> Self {
        self.first = Some(first);
        self
    }

    /// Adds how to fix the problem.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
