//! Syntax tree of a Handlebars source. Literal text is stored as ranges of the source. An `else if`
//! chain is a list, so only real nesting makes the tree deep.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::helper::Callee;

/// The body between an opening tag and the tag that ends it.
#[derive(Debug, Default)]
pub(super) struct BlockBody {
    pub(super) nodes: Vec<Node>,
    /// Declared names: `as |item index|`.
    pub(super) params: usize,
    /// Whether it defines inline partials, which are in scope from its start.
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
    /// A comment; used only while white space is removed.
    Comment(TrimMarkers),
}

/// Literal text: a range of the source, which white space control shrinks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The original range.
    pub(super) original: (usize, usize),
    /// Whether the last change on that side removed text.
    pub(super) left_stripped: bool,
    pub(super) right_stripped: bool,
}

/// Whether a tag removes the white space before and after it (`~`).
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

/// `{{#…}}…{{/…}}` with all its branches.
#[derive(Debug)]
pub(super) struct Block {
    /// The opening tag and every `else …` with a call; never empty.
    pub(super) arms: Vec<BranchArm>,
    /// Rendered if no arm is: `{{else}}`, or the body of `{{^…}}`.
    pub(super) otherwise: Option<BlockBody>,
    /// Whether it was written `{{^…}}`: then `otherwise` is first in the source.
    pub(super) inverted: bool,
    /// Strip marks of `{{else}}`.
    pub(super) else_strip: TrimMarkers,
    pub(super) close: TrimMarkers,
}

#[derive(Debug)]
pub(super) struct BranchArm {
    pub(super) call: CallExpr,
    /// None in `{{^…}}` without an `{{else}}`.
    pub(super) body: Option<BlockBody>,
    pub(super) strip: TrimMarkers,
}

/// A name that is called or looked up, with its arguments.
#[derive(Debug)]
pub(super) struct CallExpr {
    pub(super) kind: CallKind,
    pub(super) path: Path,
    pub(super) positional: Vec<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
    /// Span of the tag or the parentheses.
    pub(super) span: Span,
}

/// Possible meaning of a name, as far as the source shows.
#[derive(Debug)]
pub(super) enum CallKind {
    /// A variable: its path has several parts, or contains `this` or `../`.
    Variable,
    /// A late-bound function or a variable.
    Ambiguous,
    /// A late-bound function: it has arguments.
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
    /// The context, or an outer one by number of levels (`../`).
    Context(usize),
    /// `@name`, or the one this number of levels outside (`@../name`).
    Data(usize),
    /// A block parameter: the number of blocks outside, and the index of the name.
    Param(usize, usize),
}

/// `{{> name}}` and `{{#> name}}…{{/name}}`.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) name: PartialName,
    /// At most one context.
    pub(super) context: Option<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
    /// The body of `@partial-block`, rendered instead if the partial does not exist.
    pub(super) body: Option<BlockBody>,
    pub(super) open: TrimMarkers,
    pub(super) close: TrimMarkers,
    /// Indentation of the tag, added to each line of the partial.
    pub(super) indent: Option<(usize, usize)>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum PartialName {
    /// A name, with the index of its source if it exists.
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
