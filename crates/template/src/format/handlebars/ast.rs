//! Syntax tree of a Handlebars source. Literal text is stored as ranges of the source. An `else if`
//! chain is a list, so only nested tags make the tree deep.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::helper::Callee;

/// The body between an opening tag and the next tag of the same block.
#[derive(Debug, Default)]
pub(super) struct BlockBody {
    pub(super) nodes: Vec<Node>,
    /// Number of declared names, as in `as |item index|`.
    pub(super) params: usize,
    /// Whether the body defines inline partials, which are in scope from its start.
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
    /// A comment. Only whitespace control uses it.
    Comment(TrimMarkers),
}

/// Literal text: a range of the source, which whitespace control shortens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The range before whitespace control.
    pub(super) original: (usize, usize),
    /// Whether the last change on the left side removed text.
    pub(super) left_stripped: bool,
    pub(super) right_stripped: bool,
}

/// Whether a tag with `~` removes the white space before and after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TrimMarkers {
    pub(super) open: bool,
    pub(super) close: bool,
}

/// A tag `{{…}}` whose value is printed.
#[derive(Debug)]
pub(super) struct Print {
    pub(super) call: CallExpr,
    pub(super) escaped: bool,
    pub(super) strip: TrimMarkers,
}

/// A block `{{#…}}…{{/…}}` with all its branches.
#[derive(Debug)]
pub(super) struct Block {
    /// The branches of the opening tag and of every `else …` with a call. Never empty.
    pub(super) arms: Vec<BranchArm>,
    /// Body that is rendered if no branch is: `{{else}}`, or the body of `{{^…}}`.
    pub(super) otherwise: Option<BlockBody>,
    /// Whether the block is written as `{{^…}}`. In this case `otherwise` comes first in the
    /// source.
    pub(super) inverted: bool,
    /// Trim markers of `{{else}}`.
    pub(super) else_strip: TrimMarkers,
    pub(super) close: TrimMarkers,
}

#[derive(Debug)]
pub(super) struct BranchArm {
    pub(super) call: CallExpr,
    /// `None` in a `{{^…}}` without an `{{else}}`.
    pub(super) body: Option<BlockBody>,
    pub(super) strip: TrimMarkers,
}

/// A name that is called or looked up, and its arguments.
#[derive(Debug)]
pub(super) struct CallExpr {
    pub(super) kind: CallKind,
    pub(super) path: Path,
    pub(super) positional: Vec<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
    /// Span of the tag, or of the parentheses.
    pub(super) span: Span,
}

/// Possible meanings of a name, as far as the source shows.
#[derive(Debug)]
pub(super) enum CallKind {
    /// A variable, whose path has several parts or contains `this` or `../`.
    Variable,
    /// A late-bound function or a variable.
    Ambiguous,
    /// A late-bound function, because the name has arguments.
    Function,
    /// A helper of the format.
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

/// Start of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// The context at this number of levels outward (`../`).
    Context(usize),
    /// The data `@name` at this number of levels outward (`@../name`).
    Data(usize),
    /// A block parameter: the number of blocks outward, and the index of the name.
    Param(usize, usize),
}

/// A partial: `{{> name}}`, or `{{#> name}}…{{/name}}`.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) name: PartialName,
    /// The context that is passed, if any.
    pub(super) context: Option<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
    /// The body for `@partial-block`, which is rendered itself if the partial does not exist.
    pub(super) body: Option<BlockBody>,
    pub(super) open: TrimMarkers,
    pub(super) close: TrimMarkers,
    /// Span of the tag's indentation, which is added to each line of the partial.
    pub(super) indent: Option<(usize, usize)>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum PartialName {
    /// A constant name, with the index of its source if that exists.
    Fixed(Box<str>, Option<usize>),
    /// `@partial-block`.
    Block,
    Dynamic(Expr),
}

/// An inline partial: `{{#*inline "name"}}…{{/inline}}`.
#[derive(Debug)]
pub(super) struct InlinePartial {
    pub(super) name: Expr,
    pub(super) body: BlockBody,
    pub(super) open: TrimMarkers,
    pub(super) close: TrimMarkers,
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
