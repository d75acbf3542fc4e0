//! Errors with Go's locations and messages.

use quillet_core::{LineColumn, Span};

use crate::error::{ErrorKind, RenderError};
use crate::pass::StopReason;

use super::super::ast::{CommandNode, Node, Pipe, TemplateCall};
use super::Executor;

/// The node that Go names in an error at this point.
#[derive(Clone, Copy, Debug)]
pub(super) enum ErrorContext<'a> {
    Start,
    Node(&'a Node),
    Pipe(&'a Pipe),
    Command(&'a CommandNode),
    /// An entire action, with its delimiters.
    Action(&'a Pipe),
    Call(&'a TemplateCall),
}

impl ErrorContext<'_> {
    /// Returns the location that Go reports, the span, and the text of the node.
    fn describe(self) -> Option<(usize, Span, String)> {
        let mut text = String::new();
        let (pos, span) = match self {
            ErrorContext::Start => return None,
            ErrorContext::Node(node) => {
                node.write(&mut text);
                (node.pos, node.span)
            }
            ErrorContext::Pipe(pipe) => {
                pipe.write(&mut text);
                (pipe.pos, pipe.span)
            }
            ErrorContext::Command(command) => {
                command.write(&mut text);
                (command.pos, command.span)
            }
            ErrorContext::Action(pipe) => {
                text.push_str("{{");
                pipe.write(&mut text);
                text.push_str("}}");
                (pipe.pos, pipe.span)
            }
            ErrorContext::Call(call) => {
                text = call.text();
                (call.pos, call.span)
            }
        };
        Some((pos, span, text))
    }
}

impl<'a> Executor<'a, '_, '_> {
    /// Creates an error that the template or its values cause.
    #[cold]
    pub(super) fn fail(&self, reason: impl Into<String>) -> StopReason {
        self.placed(RenderError::new(ErrorKind::Execution, reason))
    }

    /// Creates the error for a missing variable in a strict template.
    #[cold]
    pub(super) fn missing(&self, reason: String) -> StopReason {
        self.placed(RenderError::new(ErrorKind::MissingVariable, reason))
    }

    /// Adds the current location to an error without one.
    #[cold]
    pub(super) fn place(&self, stop: StopReason) -> StopReason {
        match stop {
            StopReason::Failed(error) if error.source_name.is_empty() => self.placed(*error),
            other => other,
        }
    }

    fn placed(&self, mut error: RenderError) -> StopReason {
        let source = self.compiled.source_of(self.definition);
        let name = super::quote(&self.definition.name);
        error.source_name = source.name.to_string();
        error.message = match self.at.describe() {
            None => format!("template: {}: {}", self.definition.name, error.reason),
            Some((pos, span, context)) => {
                error.span = Some(span);
                error.position = Some(LineColumn::of(&source.text, span.start));
                let (line, column) = line_and_column(&source.text, pos);
                format!(
                    "template: {}:{line}:{column}: executing {name} at <{context}>: {}",
                    source.name, error.reason
                )
            }
        };
        error.into()
    }
}

/// Returns the line and the column. Go counts lines from 1 and columns in bytes from 0.
fn line_and_column(text: &str, pos: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..pos.min(text.len())];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    (line, pos - line_start)
}
