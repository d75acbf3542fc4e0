//! Syntax tree of a format string.

use std::ops::Range;

use quillet_core::Span;

use super::super::python::Spec;
use crate::format::problem::ParseProblem;

/// A parsed source.
#[derive(Debug)]
pub(super) struct Program {
    /// All literal text.
    pub(super) literals: Box<str>,
    pub(super) nodes: Vec<Node>,
}

#[derive(Debug)]
pub(super) enum Node {
    /// A range of the literal text.
    Text(Range<usize>),
    Field(Field),
    /// A field with an error that is raised only at render time.
    Refused(ParseProblem),
}

/// `{name[key]!r:spec}`.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) path: Vec<Index>,
    pub(super) conversion: Option<Conversion>,
    pub(super) layout: FormatSpec,
    /// Span of the name and its path.
    pub(super) span: Span,
    /// Span of the entire field, including the braces.
    pub(super) whole: Span,
}

/// The contents of brackets.
#[derive(Debug)]
pub(super) enum Index {
    /// An index that consists only of digits.
    Number(usize),
    Key(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    Str,
    Repr,
    Ascii,
}

/// Format specifier after the colon.
#[derive(Debug)]
pub(super) enum FormatSpec {
    /// No specifier.
    Plain,
    Fixed(Spec),
    /// A specifier with nested fields.
    Nested(Vec<SpecPart>),
}

/// A segment of a specifier with nested fields.
#[derive(Debug)]
pub(super) enum SpecPart {
    Text(Box<str>),
    Field(Field),
}

impl Field {
    /// Whether the field prints the value unchanged.
    pub(super) fn is_plain(&self) -> bool {
        self.conversion.is_none() && matches!(self.layout, FormatSpec::Plain)
    }
}
