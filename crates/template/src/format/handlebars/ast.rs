//! The syntax tree of a Handlebars source. Literal text is ranges of the
//! source; an `else if` chain is a list, so that only real nesting is deep.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::helper::Callee;

/// What stands between an opening tag and the next that ends it.
#[derive(Debug, Default)]
pub(super) struct BlockBody {
    pub(super) nodes: Vec<Node>,
    /// Names that it declares: `as |item index|`.
    pub(super) params: usize,
    /// Whether it defines inline partials, which are there from its start.
    pub(super) inlines: bool,
}

#[derive(Debug)]
pub(super) enum Node {
    Text(Text),
    /// Literal text whose message structure is marked.
    Marked(Box<str>),
    Print(Box<Print>),
    Block(Box<Block>),
    Partial(Box<Partial>),
    Inline(Box<InlinePartial>),
    /// Counts only while white space is taken out.
    Comment(Strip),
}

/// Literal text: a range of the source, which white space control makes smaller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The range before anything was taken out.
    pub(super) original: (usize, usize),
    /// Whether the last change on that side took something out.
    pub(super) left_stripped: bool,
    pub(super) right_stripped: bool,
}

/// Whether a tag takes out the white space before it and after it (`~`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Strip {
    pub(super) open: bool,
    pub(super) close: bool,
}

/// `{{…}}` whose value is printed.
#[derive(Debug)]
pub(super) struct Print {
    pub(super) call: CallExpr,
    pub(super) escaped: bool,
    pub(super) strip: Strip,
}

/// `{{#…}}…{{/…}}` with all its branches.
#[derive(Debug)]
pub(super) struct Block {
    /// The opening tag and every `else …` with a call of its own; never empty.
    pub(super) arms: Vec<Arm>,
    /// What is rendered if no arm is: `{{else}}`, or the body of `{{^…}}`.
    pub(super) otherwise: Option<BlockBody>,
    /// Whether it was written `{{^…}}`: `otherwise` stands first in the source.
    pub(super) inverted: bool,
    /// Of `{{else}}`.
    pub(super) else_strip: Strip,
    pub(super) close: Strip,
}

#[derive(Debug)]
pub(super) struct Arm {
    pub(super) call: CallExpr,
    /// None in `{{^…}}` without an `{{else}}`.
    pub(super) body: Option<BlockBody>,
    pub(super) strip: Strip,
}

/// A name that is called or looked up, with what it is given.
#[derive(Debug)]
pub(super) struct CallExpr {
    pub(super) kind: CallKind,
    pub(super) path: Path,
    pub(super) positional: Vec<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
    /// Of the tag or the parentheses.
    pub(super) span: Span,
}

/// What a name can mean, as far as the source tells.
#[derive(Debug)]
pub(super) enum CallKind {
    /// A variable: its path has several parts, or `this` or `../` in it.
    Variable,
    /// A late-bound function or a variable.
    Ambiguous,
    /// A late-bound function: it has arguments.
    Function,
    /// A helper that the format has.
    Helper(Callee),
}

#[derive(Debug)]
pub(super) enum Expr {
    Literal(Value),
    Undefined,
    Path(Path),
    Call(Box<CallExpr>),
}

#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) root: Root,
    pub(super) parts: Vec<Box<str>>,
    pub(super) span: Span,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// The context, or the one so many levels outside (`../`).
    Context(usize),
    /// `@name`, so many levels outside (`@../name`).
    Data(usize),
    /// A block parameter: of which block outside, and which of its names.
    Param(usize, usize),
}

/// `{{> name}}` and `{{#> name}}…{{/name}}`.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) name: PartialName,
    /// At most one.
    pub(super) context: Option<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
    /// What `@partial-block` is, or stands here if there is no such partial.
    pub(super) body: Option<BlockBody>,
    pub(super) open: Strip,
    pub(super) close: Strip,
    /// White space before it on its line, put before each line of it.
    pub(super) indent: Option<(usize, usize)>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum PartialName {
    /// With the source of that name, if there is one.
    Fixed(Box<str>, Option<usize>),
    /// `@partial-block`.
    Block,
    Dynamic(Expr),
}

/// `{{#*inline "name"}}…{{/inline}}`.
#[derive(Debug)]
pub(super) struct InlinePartial {
    pub(super) name: Expr,
    pub(super) body: BlockBody,
    pub(super) open: Strip,
    pub(super) close: Strip,
}

impl Text {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Text {
            start,
            end,
            original: (start, end),
            left_stripped: false,
            right_stripped: false,
        }
    }
}
