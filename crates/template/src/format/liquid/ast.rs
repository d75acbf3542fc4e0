//! Syntax tree of a Liquid template.

use std::ops::Range;
use std::sync::Arc;

use quillet_core::Span;

use super::filters::FilterEntry;

/// Nodes in source order.
pub(super) type Body = Vec<Node>;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    /// Text, as a range of all literal text of the source.
    Text(Range<usize>),
    /// Text of a `raw` block, which whitespace control does not change.
    Raw(Range<usize>),
    /// A comment. It is stored because it stops whitespace control.
    Nothing,
    Print(FilteredExpr),
    Assign(Arc<str>, FilteredExpr),
    Capture(Arc<str>, Body),
    If(If),
    Case(CaseTag),
    For(Box<For>),
    TableRow(Box<TableRow>),
    Cycle(Cycle),
    /// Prints a counter and then increments it.
    Increment(Arc<str>),
    Decrement(Arc<str>),
    IfChanged(Body),
    Include(Box<PartialTag>),
    Render(Box<PartialTag>),
    Break,
    Continue,
}

/// A value with its filters.
#[derive(Debug)]
pub(super) struct FilteredExpr {
    /// The value. Without one, nothing is printed.
    pub(super) value: Option<Expr>,
    pub(super) filters: Vec<FilterCall>,
}

#[derive(Debug)]
pub(super) struct FilterCall {
    pub(super) name: Arc<str>,
    /// The filter of Liquid with this name. `None` for a late-bound function.
    pub(super) own: Option<&'static FilterEntry>,
    pub(super) positional: Vec<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
    /// Span of the name.
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum ExprKind {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    Range(Box<Expr>, Box<Expr>),
    Lookup(Box<Lookup>),
}

/// A variable with its accesses.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) name: Name,
    pub(super) keys: Vec<Key>,
}

#[derive(Debug)]
pub(super) enum Name {
    Known(Arc<str>),
    /// `[expression]`, the variable with the computed name.
    Computed(Expr),
}

#[derive(Debug)]
pub(super) enum Key {
    /// `.name`. `size`, `first` and `last` are properties, unless there is a key with that name.
    Name(Arc<str>),
    /// `[expression]`
    Computed(Expr),
}

#[derive(Debug)]
pub(super) struct If {
    /// Whether the first condition must be false.
    pub(super) unless: bool,
    /// Conditions with their bodies. The condition of `else` is `None`.
    pub(super) branches: Vec<(Option<ConditionChain>, Body)>,
}

/// Comparisons, each with the operator to the next one. They are combined from right to left.
#[derive(Debug)]
pub(super) struct ConditionChain {
    pub(super) parts: Vec<(Comparison, Option<Join>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) left: Term,
    pub(super) right: Option<(Operator, Term)>,
}

/// An operand of a comparison.
#[derive(Debug)]
pub(super) enum Term {
    Expr(Expr),
    /// `empty`
    Empty,
    /// `blank`
    Blank,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    Contains,
}

#[derive(Debug)]
pub(super) struct CaseTag {
    pub(super) left: Expr,
    /// Values of each branch in order (`None` for `else`), with the index of its body.
    pub(super) arms: Vec<(Option<Term>, usize)>,
    pub(super) bodies: Vec<Body>,
}

#[derive(Debug)]
pub(super) struct For {
    pub(super) variable: Arc<str>,
    pub(super) items: Expr,
    /// Text `item-list`, which is the key for `offset: continue` and the name of the `forloop`.
    pub(super) name: Arc<str>,
    pub(super) reversed: bool,
    pub(super) limit: Option<Expr>,
    pub(super) offset: Offset,
    pub(super) body: Body,
    pub(super) otherwise: Option<Body>,
}

#[derive(Debug)]
pub(super) enum Offset {
    Start,
    At(Expr),
    /// The end position of the previous loop with the same name.
    Continue,
}

#[derive(Debug)]
pub(super) struct TableRow {
    pub(super) variable: Arc<str>,
    pub(super) items: Expr,
    pub(super) columns: Option<Expr>,
    pub(super) limit: Option<Expr>,
    pub(super) offset: Option<Expr>,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) struct Cycle {
    pub(super) group: Group,
    pub(super) values: Vec<Expr>,
}

/// The key that identifies a cycle.
#[derive(Debug)]
pub(super) enum Group {
    /// Cycles with the same name share their position.
    Named(Expr),
    /// Cycles with the same values, as written, share their position.
    Values(Arc<str>),
}

/// The tags `include` and `render`.
#[derive(Debug)]
pub(super) struct PartialTag {
    pub(super) template: Expr,
    /// The passed value. The flag is set for `for`, which renders the template once per item.
    pub(super) handed: Option<(Expr, bool)>,
    /// Name of the passed value in the template. The default is the name of the template.
    pub(super) alias: Option<Arc<str>>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
}

impl Expr {
    pub(super) fn new(kind: ExprKind, start: usize, end: usize) -> Self {
        Expr {
            kind,
            span: Span { start, end },
        }
    }

    pub(super) fn is_constant(&self) -> bool {
        match &self.kind {
            ExprKind::Lookup(_) => false,
            ExprKind::Range(from, to) => from.is_constant() && to.is_constant(),
            _ => true,
        }
    }
}

impl Node {
    pub(super) fn new(kind: NodeKind, start: usize, end: usize) -> Self {
        Node {
            kind,
            span: Span { start, end },
        }
    }

    /// Returns the bodies inside a tag.
    pub(super) fn bodies(&self) -> Vec<&Body> {
        match &self.kind {
            NodeKind::Capture(_, body) | NodeKind::IfChanged(body) => vec![body],
            NodeKind::If(node) => node.branches.iter().map(|(_, body)| body).collect(),
            NodeKind::Case(node) => node.bodies.iter().collect(),
            NodeKind::For(node) => std::iter::once(&node.body).chain(&node.otherwise).collect(),
            NodeKind::TableRow(node) => vec![&node.body],
            _ => Vec::new(),
        }
    }
}
