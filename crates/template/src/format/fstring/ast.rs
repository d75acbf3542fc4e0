//! What a format string consists of.

use std::ops::Range;

use quillet_core::Span;

use super::super::python::Spec;
use crate::format::problem::ParseProblem;

/// One source, read.
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
    /// What only fails when it is rendered.
    Refused(ParseProblem),
}

/// `{name[key]!r:spec}`.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) path: Vec<Index>,
    pub(super) conversion: Option<Conversion>,
    pub(super) layout: FormatSpec,
    /// The name with its path.
    pub(super) span: Span,
    /// All of it, braces included.
    pub(super) whole: Span,
}

/// What stands in brackets.
#[derive(Debug)]
pub(super) enum Index {
    /// Digits only.
    Number(usize),
    Key(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    Str,
    Repr,
    Ascii,
}

/// What stands after the colon.
#[derive(Debug)]
pub(super) enum FormatSpec {
    /// Nothing.
    Plain,
    Fixed(Spec),
    /// It has fields of its own.
    Nested(Vec<SpecPart>),
}

/// A piece of a specifier with fields.
#[derive(Debug)]
pub(super) enum SpecPart {
    Text(Box<str>),
    Field(Field),
}

impl Field {
    /// Whether it prints the value as it is.
    pub(super) fn is_plain(&self) -> bool {
        self.conversion.is_none() && matches!(self.layout, FormatSpec::Plain)
    }
}
