//! What a Mustache template consists of: a flat list, in which a section knows
//! where it ends. So neither depth nor length costs any stack to drop.

use std::ops::Range;

use quillet_core::Span;

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
    Text(Range<usize>, LinePosition),
    Value(Tag),
    Section(Section),
    Partial(Partial),
}

/// What is before a text in its line, for the indentation of partials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinePosition {
    /// Something.
    Inside,
    /// Nothing, in the first line of the source.
    Source,
    /// Nothing.
    Line,
}

/// A tag with a name.
#[derive(Debug)]
pub(super) struct Tag {
    pub(super) path: TagPath,
    /// Whether the value is never escaped: `{{{name}}}`, `{{& name}}`.
    pub(super) raw: bool,
    /// All of the tag.
    pub(super) span: Span,
    /// The name in it.
    pub(super) name: Span,
}

/// `{{#name}}…{{/name}}`, or `{{^name}}…{{/name}}`.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) tag: Tag,
    pub(super) inverted: bool,
    /// The node after its last.
    pub(super) end: usize,
}

/// `{{> name}}`.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) tag: Tag,
    /// Which source it is, if it was given.
    pub(super) source: Option<usize>,
    /// What its lines are indented by: the text before the tag as blanks. `None`
    /// after another tag in the same line.
    pub(super) indent: Option<Box<str>>,
    /// Whether its first line is indented too: only blanks are before it.
    pub(super) first_line: bool,
}

/// What a tag names.
#[derive(Clone, Debug)]
pub(super) enum TagPath {
    /// `.`: the value of the innermost section.
    Here,
    Name(Box<str>),
    /// `a.b.c`: the whole, and its parts.
    Dotted(Box<str>, Box<[Box<str>]>),
}

impl TagPath {
    pub(super) fn new(name: &str) -> Self {
        match name.find('.') {
            Some(0) if name == "." => TagPath::Here,
            // mustache.js takes a point in front for a part of the name.
            None | Some(0) => TagPath::Name(name.into()),
            Some(_) => TagPath::Dotted(name.into(), name.split('.').map(Into::into).collect()),
        }
    }

    /// As it is written.
    pub(super) fn text(&self) -> &str {
        match self {
            TagPath::Here => ".",
            TagPath::Name(name) | TagPath::Dotted(name, _) => name,
        }
    }

    /// The name that is looked for in the sections.
    pub(super) fn first(&self) -> &str {
        match self {
            TagPath::Here => ".",
            TagPath::Name(name) => name,
            TagPath::Dotted(_, parts) => parts.first().map_or("", |part| part),
        }
    }

    /// What is taken out of it.
    pub(super) fn rest(&self) -> &[Box<str>] {
        match self {
            TagPath::Dotted(_, parts) => parts.get(1..).unwrap_or_default(),
            _ => &[],
        }
    }
}
