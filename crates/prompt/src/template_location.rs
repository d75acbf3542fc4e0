//! Maps locations in a template to locations in the file that contains it, so that a diagnostic has
//! the line number that the author sees.

use std::sync::Arc;

use quillet_core::{Diagnostic, LineColumn, Span};

/// Location of a template in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateLocation {
    /// The file.
    pub source: Arc<str>,
    /// How the file contains the template.
    pub standing: TemplatePlacement,
}

/// How a file contains a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePlacement {
    /// Unchanged, from this byte offset.
    Verbatim(usize, LineColumn),
    /// Line by line, each from its own byte offset, as in an indented YAML block.
    Lines(Arc<[(usize, LineColumn)]>),
    /// In another notation, such as a quoted or folded text, from this byte offset.
    Written(usize, LineColumn),
}

impl TemplateLocation {
    /// Maps a diagnostic from the template to the file.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::{Diagnostic, LineColumn, Span};
    /// use quillet_prompt::{TemplateLocation, TemplatePlacement};
    ///
    /// // The template begins at byte 10 of its file, in line 3.
    /// let place = TemplateLocation {
    ///     source: "greet.prompt".into(),
    ///     standing: TemplatePlacement::Verbatim(10, LineColumn { line: 3, column: 1 }),
    /// };
    /// let template = "Hi {{ }}";
    /// let found = Diagnostic::error("template.syntax", "greet", "empty tag");
    /// let found = place.locate(found.at(template, Span { start: 3, end: 8 }), template);
    /// assert_eq!(found.to_string(), "greet.prompt:3:4: empty tag");
    /// assert_eq!(found.span, Some(Span { start: 13, end: 18 }));
    /// ```
    #[must_use]
    pub fn locate(&self, found: Diagnostic, template: &str) -> Diagnostic {
        let span = found.span.map(|span| self.span(span, template));
        Diagnostic {
            source: self.source.to_string(),
            span,
            position: found.position.map(|position| self.position(position)),
            ..found
        }
    }

    fn position(&self, at: LineColumn) -> LineColumn {
        match &self.standing {
            TemplatePlacement::Verbatim(_, start) if at.line <= 1 => along(*start, at.column),
            TemplatePlacement::Verbatim(_, start) => LineColumn {
                line: start.line + at.line - 1,
                column: at.column,
            },
            TemplatePlacement::Lines(lines) => match lines.get(at.line.saturating_sub(1)) {
                Some((_, start)) => along(*start, at.column),
                None => at,
            },
            TemplatePlacement::Written(_, start) => *start,
        }
    }

    fn span(&self, span: Span, template: &str) -> Span {
        let shift = |by: usize, from: usize| Span {
            start: span.start + by - from,
            end: span.end + by - from,
        };
        match &self.standing {
            TemplatePlacement::Verbatim(byte, _) => shift(*byte, 0),
            TemplatePlacement::Lines(lines) => {
                let before = template.get(..span.start).unwrap_or(template);
                let line = before.matches('\n').count();
                let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
                lines
                    .get(line)
                    .map_or(span, |(byte, _)| shift(*byte, begin))
            }
            TemplatePlacement::Written(byte, _) => Span {
                start: *byte,
                end: *byte,
            },
        }
    }
}

/// Adds the column where a line starts in the file.
fn along(start: LineColumn, column: usize) -> LineColumn {
    LineColumn {
        column: start.column + column.saturating_sub(1),
        ..start
    }
}
