//! From a place in a template to one in the file that has it, so that a finding names the line that
//! the author sees.

use std::sync::Arc;

use quillet_core::{Diagnostic, LineColumn, Span};

/// Where a template stands in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateLocation {
    /// The file.
    pub source: Arc<str>,
    /// In what way.
    pub standing: TemplatePlacement,
}

/// In what way a template stands in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePlacement {
    /// As it is, from this byte.
    Verbatim(usize, LineColumn),
    /// Line by line, each from its own byte: a block of YAML, which is indented.
    Lines(Arc<[(usize, LineColumn)]>),
    /// Written in another way (in quotes, folded), from this byte.
    Written(usize, LineColumn),
}

impl TemplateLocation {
    /// A finding in the template as one in the file.
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

/// A column in a line that begins further right in the file.
fn along(start: LineColumn, column: usize) -> LineColumn {
    LineColumn {
        column: start.column + column.saturating_sub(1),
        ..start
    }
}
