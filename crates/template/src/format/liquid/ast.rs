//! Liquid templates as syntax trees.

use std::ops::Range;
use std::sync::Arc;

use quillet_core::Span;

use super::filters::FilterEntry;

/// What is printed and done, in order.
pub(super) type Body = Vec<Node>;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    /// Text, as a part of all literal text of the source.
    Text(Range<usize>),
    /// The same out of `raw`: white space control leaves it alone.
    Raw(Range<usize>),
    /// A comment: it stands in the tree since white space control does not see past it.
    Nothing,
    Print(FilteredExpr),
    Assign(Arc<str>, FilteredExpr),
    Capture(Arc<str>, Body),
    If(If),
    Case(CaseTag),
    For(Box<For>),
    TableRow(Box<TableRow>),
    Cycle(Cycle),
    /// Prints a counter, and adds to it or takes one from it first.
    Increment(Arc<str>),
    Decrement(Arc<str>),
    IfChanged(Body),
    Include(Box<PartialTag>),
    Render(Box<PartialTag>),
    Break,
    Continue,
}

/// A value and the filters behind it.
#[derive(Debug)]
pub(super) struct FilteredExpr {
    /// Nothing at all prints nothing.
    pub(super) value: Option<Expr>,
    pub(super) filters: Vec<FilterCall>,
}

#[derive(Debug)]
pub(super) struct FilterCall {
    pub(super) name: Arc<str>,
    /// One of Liquid's own; any other is a function that is bound late.
    pub(super) own: Option<&'static FilterEntry>,
    pub(super) positional: Vec<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
    /// Where the name stands.
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

/// A variable, and what is looked up in it.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) name: Name,
    pub(super) keys: Vec<Key>,
}

#[derive(Debug)]
pub(super) enum Name {
    Known(Arc<str>),
    /// `[expression]`: the variable of that name.
    Computed(Expr),
}

#[derive(Debug)]
pub(super) enum Key {
    /// `.name`; `size`, `first` and `last` are asked for where no key of that name is.
    Name(Arc<str>),
    /// `[expression]`
    Computed(Expr),
}

#[derive(Debug)]
pub(super) struct If {
    /// Whether the first condition has to fail.
    pub(super) unless: bool,
    /// `else` has no condition.
    pub(super) branches: Vec<(Option<ConditionChain>, Body)>,
}

/// Comparisons, which are combined from the right: each with how the next one follows.
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

/// What is compared.
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
    /// In order: what each asks for (`None` for `else`), and which of the bodies it prints.
    pub(super) arms: Vec<(Option<Term>, usize)>,
    pub(super) bodies: Vec<Body>,
}

#[derive(Debug)]
pub(super) struct For {
    pub(super) variable: Arc<str>,
    pub(super) items: Expr,
    /// `item-list`, which is its name to `offset: continue` and in `forloop.name`.
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
    /// Where the last loop of the same name has ended.
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

/// Which cycles are one.
#[derive(Debug)]
pub(super) enum Group {
    /// Those with the same name.
    Named(Expr),
    /// Those with the same values, written out.
    Values(Arc<str>),
}

/// `include` and `render`.
#[derive(Debug)]
pub(super) struct PartialTag {
    pub(super) template: Expr,
    /// What is handed over as a whole, and whether item by item (`for`).
    pub(super) handed: Option<(Expr, bool)>,
    /// The name under which it is seen there; else that of the template.
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

    /// The bodies inside.
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
