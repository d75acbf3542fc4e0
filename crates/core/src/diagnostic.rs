//! Diagnostics: problems with their locations and fixes.

use serde::Serialize;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The definition cannot be used.
    Error,
    /// The definition can be used, but probably does not do what its author intended.
    Warning,
}

/// A range of bytes in a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte; equal to `start` for a point.
    pub end: usize,
}

/// A position for display. Both numbers start at 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: usize,
    /// Character within the line, from 1.
    pub column: usize,
}

impl LineColumn {
    /// Returns the position of a byte in a text; offsets past the end count as the end.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::LineColumn;
    ///
    /// let source = "Hällo\n{{ name";
    /// assert_eq!(LineColumn::of(source, 3), LineColumn { line: 1, column: 3 });
    /// assert_eq!(LineColumn::of(source, 7), LineColumn { line: 2, column: 1 });
    /// ```
    #[must_use]
    pub fn of(source: &str, byte: usize) -> Self {
        let mut byte = byte.min(source.len());
        // Parsers report byte offsets, which may fall inside a character of invalid input.
        while !source.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &source[..byte];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        LineColumn {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// A problem in a source text.
///
/// # Examples
///
/// ```
/// use quillet_core::{Diagnostic, Span};
///
/// let text = "Hello {{ nmae }}";
/// let problem = Diagnostic::error("template.variable", "greet.hello", "unknown variable nmae")
///     .at(text, Span { start: 9, end: 13 })
///     .help("use name");
/// assert_eq!(problem.to_string(), "greet.hello:1:10: unknown variable nmae (use name)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable code, such as `template.syntax`.
    pub code: &'static str,
    /// Severity.
    pub severity: Severity,
    /// The problem, in one sentence without a full stop.
    pub message: String,
    /// Name of the source: a file, a prompt id, or a message of a prompt.
    pub source: String,
    /// The location, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// Position of the start of the span.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub position: Option<LineColumn>,
    /// Suggested fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Diagnostic {
    /// Creates an error without a location; see [`Diagnostic::at`] and [`Diagnostic::help`].
    pub fn error(code: impl Into<&'static str>, source: &str, message: impl Into<String>) -> Self {
        Diagnostic {
            code: code.into(),
            severity: Severity::Error,
            message: message.into(),
            source: source.to_owned(),
            span: None,
            position: None,
            help: None,
        }
    }

    /// Creates a warning without a location.
    pub fn warning(
        code: impl Into<&'static str>,
        source: &str,
        message: impl Into<String>,
    ) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, source, message)
        }
    }

    /// Sets the location. `text` is the source text.
    #[must_use]
    pub fn at(mut self, text: &str, span: Span) -> Self {
        self.span = Some(span);
        self.position = Some(LineColumn::of(text, span.start));
        self
    }

    /// Sets the suggested fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.source)?;
        if let Some(LineColumn { line, column }) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(help) = &self.help {
            write!(f, " ({help})")?;
        }
        Ok(())
    }
}

/// Returns the known name closest to a misspelled name, if at most a third of its characters
/// differ.
///
/// # Examples
///
/// ```
/// use quillet_core::nearest;
///
/// let known = ["temperature", "top_p"];
/// assert_eq!(nearest("tempature", known), Some("temperature"));
/// assert_eq!(nearest("weather", known), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The minimum is one, so that typos in short names are found.
    let limit = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        // Equally close names are ordered alphabetically, so the suggestion is deterministic.
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        assert_eq!(
            LineColumn::of("äb\nçd", 6),
            LineColumn { line: 2, column: 2 }
        );
        assert_eq!(LineColumn::of("", 9), LineColumn { line: 1, column: 1 });
    }

    #[test]
    fn nearest_wants_a_close_name() {
        let known = ["codebase_lookup", "translate"];
        assert_eq!(nearest("codebase_lokup", known), Some("codebase_lookup"));
        assert_eq!(nearest("weather", known), None);
    }
}
