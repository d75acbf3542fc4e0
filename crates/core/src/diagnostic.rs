//! What is wrong, where, and how to fix it.

use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The definition cannot be used.
    Error,
    /// It can be used, and probably does not do what its author meant.
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

/// A place for people: both numbers count from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
}

impl LineColumn {
    /// The place of a byte in a text; bytes past the end count as the end.
    #[must_use]
    pub fn of(source: &str, byte: usize) -> Self {
        let mut byte = byte.min(source.len());
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

/// One finding about a source text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable short name, such as `template.syntax`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// Name of the source: a file, a prompt id, a message of a prompt.
    pub source: String,
    /// Where, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The place of the span's start.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub position: Option<LineColumn>,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without a place; see [`Diagnostic::at`] and [`Diagnostic::help`].
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

    /// A warning without a place.
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

    /// Adds the place, in the text that it is a place of.
    #[must_use]
    pub fn at(mut self, text: &str, span: Span) -> Self {
        self.span = Some(span);
        self.position = Some(LineColumn::of(text, span.start));
        self
    }

    /// Adds how to fix it.
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

/// The known name that is most like a mistyped one, if any is close enough:
/// at most a third of its characters differ.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
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
