//! Compiled Mustache template: a flat list of nodes, in which a section stores the index of its
//! end. Dropping a deeply nested template therefore needs no stack.

use std::ops::Range;

use quillet_core::Span;

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
    Text(Range<usize>, LinePosition),
    Value(Tag),
    Section(Section),
    Partial(Partial),
}

/// Content of a line before a text. It determines the indentation of partials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinePosition {
    /// The line is not empty before the text.
    Inside,
    /// The line is empty before the text and is the first line of the source.
    Source,
    /// The line is empty before the text.
    Line,
}

/// A tag with a name.
#[derive(Debug)]
pub(super) struct Tag {
    pub(super) path: TagPath,
    /// Whether the value is not escaped, as in `{{{name}}}` and `{{& name}}`.
    pub(super) raw: bool,
    /// Span of the tag.
    pub(super) span: Span,
    /// Span of the name.
    pub(super) name: Span,
}

/// `{{#name}}…{{/name}}`, or `{{^name}}…{{/name}}`.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) tag: Tag,
    pub(super) inverted: bool,
    /// Index after the section's last node.
    pub(super) end: usize,
}

/// A partial: `{{> name}}`.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) tag: Tag,
    /// Index of its source, if it exists.
    pub(super) source: Option<usize>,
    /// Indentation of the partial's lines: the text before the tag, as blanks. `None` if another
    /// tag precedes it on the line.
    pub(super) indent: Option<Box<str>>,
    /// Whether the first line is indented too, because only blanks precede the tag.
    pub(super) first_line: bool,
}

/// The name in a tag.
#[derive(Clone, Debug)]
pub(super) enum TagPath {
    /// `.`, which is the value of the innermost section.
    Here,
    Name(Box<str>),
    /// A path such as `a.b.c`: the entire name, and its parts.
    Dotted(Box<str>, Box<[Box<str>]>),
}

impl TagPath {
    pub(super) fn new(name: &str) -> Self {
        match name.find('.') {
            Some(0) if name == "." => TagPath::Here,
            // As in mustache.js, a leading dot is part of the name.
            None | Some(0) => TagPath::Name(name.into()),
            Some(_) => TagPath::Dotted(name.into(), name.split('.').map(Into::into).collect()),
        }
    }

    /// Returns the name as written.
    pub(super) fn text(&self) -> &str {
        match self {
            TagPath::Here => ".",
            TagPath::Name(name) | TagPath::Dotted(name, _) => name,
        }
    }

    /// Returns the part of the name that is looked up in the sections.
    pub(super) fn first(&self) -> &str {
        match self {
            TagPath::Here => ".",
            TagPath::Name(name) => name,
            TagPath::Dotted(_, parts) => parts.first().map_or("", |part| part),
        }
    }

    /// Returns the properties after the first part of the name.
    pub(super) fn rest(&self) -> &[Box<str>] {
        match self {
            TagPath::Dotted(_, parts) => parts.get(1..).unwrap_or_default(),
            _ => &[],
        }
    }
}
