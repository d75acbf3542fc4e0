//! Syntax tree of a Jinja template. Chains of equal precedence (`a + b - c`, `a and b and c`,
//! `elif`) are lists, so only nested expressions and tags make the tree deep.

use std::ops::Range;
use std::sync::Arc;

use quillet_core::{Span, Value};

use super::filters::FilterEntry;
use super::test::Test;

/// A parsed source.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) body: Vec<Statement>,
    pub(super) blocks: Vec<Arc<Block>>,
    /// The name `loop`, if the source uses `loop`.
    pub(super) loop_name: Option<Arc<str>>,
}

impl Program {
    /// Whether the source always prints all of its text, once and in order.
    pub(super) fn is_flat(&self) -> bool {
        let flat = |statement: &Statement| {
            matches!(
                statement.kind,
                StatementKind::Text(_) | StatementKind::Print(_)
            )
        };
        self.body.iter().all(flat)
    }
}

#[derive(Debug)]
pub(super) struct Statement {
    pub(super) kind: StatementKind,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum StatementKind {
    /// A range of the source's literal text.
    Text(Range<usize>),
    Print(Expr),
    /// `{% do f(x) %}`, which drops the result.
    Do(Expr),
    If {
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    For(Arc<For>),
    Set(AssignTarget, Expr),
    /// `{% set x | upper %}…{% endset %}`.
    SetBlock(AssignTarget, Vec<FilterCall>, Vec<Statement>),
    With(Vec<(AssignTarget, Expr)>, Vec<Statement>),
    /// `{% filter upper %}…{% endfilter %}`.
    FilterBlock(Vec<FilterCall>, Vec<Statement>),
    Macro(Arc<Macro>),
    CallBlock(Expr, Arc<Macro>),
    Block(Arc<Block>),
    Extends(Expr),
    Include {
        name: Expr,
        ignore_missing: bool,
        context: bool,
    },
    Import {
        name: Expr,
        target: Arc<str>,
        context: bool,
    },
    FromImport {
        name: Expr,
        names: Vec<(Arc<str>, Arc<str>)>,
        context: bool,
    },
    /// A tag without an effect on its body: `generation`, `autoescape`.
    Group(Vec<Statement>),
    Break,
    Continue,
}

#[derive(Debug)]
pub(super) struct For {
    pub(super) target: AssignTarget,
    pub(super) iterable: Expr,
    pub(super) condition: Option<Expr>,
    pub(super) recursive: bool,
    pub(super) body: Vec<Statement>,
    pub(super) otherwise: Vec<Statement>,
}

#[derive(Debug)]
pub(super) struct Macro {
    pub(super) name: Arc<str>,
    pub(super) parameters: Vec<(Arc<str>, Option<Expr>)>,
    pub(super) body: Vec<Statement>,
    /// Whether the body uses `varargs` or `kwargs`. Only such a macro accepts extra arguments.
    pub(super) varargs: bool,
    pub(super) kwargs: bool,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) name: Arc<str>,
    /// Whether the block sees the variables of the enclosing loops.
    pub(super) scoped: bool,
    pub(super) body: Vec<Statement>,
}

/// Target of an assignment.
#[derive(Debug)]
pub(super) enum AssignTarget {
    Name(Arc<str>),
    /// A field of a namespace: `ns.field`.
    Field(Arc<str>, Arc<str>),
    Tuple(Vec<AssignTarget>),
}

#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
    /// Depth of the operands.
    pub(super) depth: usize,
}

impl Expr {
    /// Returns the operands in source order.
    pub(super) fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Constant(_) | ExprKind::Name(_) => Vec::new(),
            ExprKind::Attribute(subject, _)
            | ExprKind::Not(subject)
            | ExprKind::Negative(subject)
            | ExprKind::Positive(subject) => vec![subject],
            ExprKind::Item(subject, key) => vec![subject, key],
            ExprKind::Slice(subject, parts) => {
                let parts = parts.iter().flatten();
                std::iter::once(&**subject).chain(parts).collect()
            }
            ExprKind::Call(subject, arguments)
            | ExprKind::Test {
                subject, arguments, ..
            } => std::iter::once(&**subject).chain(arguments.all()).collect(),
            ExprKind::Filter(subject, call) => {
                let arguments = call.arguments.all();
                std::iter::once(&**subject).chain(arguments).collect()
            }
            ExprKind::Math(first, rest) => {
                let rest = rest.iter().map(|(_, right)| right);
                std::iter::once(&**first).chain(rest).collect()
            }
            ExprKind::Compare(first, rest) => {
                let rest = rest.iter().map(|(_, right)| right);
                std::iter::once(&**first).chain(rest).collect()
            }
            ExprKind::Concat(parts)
            | ExprKind::And(parts)
            | ExprKind::Or(parts)
            | ExprKind::List(parts)
            | ExprKind::Tuple(parts) => parts.iter().collect(),
            ExprKind::Choice {
                condition,
                then,
                otherwise,
            } => {
                let mut parts: Vec<&Expr> = vec![condition, then];
                parts.extend(otherwise.as_deref());
                parts
            }
            ExprKind::Dict(entries) => {
                let entries = entries.iter();
                entries.flat_map(|(key, value)| [key, value]).collect()
            }
        }
    }
}

/// Large variants are boxed, because the parser and the evaluator recurse over expressions.
#[derive(Debug)]
pub(super) enum ExprKind {
    Constant(Value),
    Name(Arc<str>),
    Attribute(Box<Expr>, Arc<str>),
    Item(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Box<[Option<Expr>; 3]>),
    Call(Box<Expr>, Box<ArgumentExprs>),
    Filter(Box<Expr>, Box<FilterCall>),
    Test {
        subject: Box<Expr>,
        test: &'static Test,
        arguments: Box<ArgumentExprs>,
        negated: bool,
    },
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Positive(Box<Expr>),
    /// Operators of equal precedence, from left to right.
    Math(Box<Expr>, Vec<(BinaryOperator, Expr)>),
    Compare(Box<Expr>, Vec<(CompareOperator, Expr)>),
    Concat(Vec<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Choice {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Option<Box<Expr>>,
    },
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
}

#[derive(Debug)]
pub(super) struct FilterCall {
    pub(super) filter: &'static FilterEntry,
    pub(super) arguments: ArgumentExprs,
    pub(super) span: Span,
}

/// Arguments in source order.
#[derive(Debug, Default)]
pub(super) struct ArgumentExprs {
    pub(super) positional: Vec<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
    /// `*list`.
    pub(super) spread: Option<Box<Expr>>,
    /// `**dict`.
    pub(super) spread_named: Option<Box<Expr>>,
}

impl ArgumentExprs {
    /// Yields the expressions of all arguments, in evaluation order.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Expr> {
        let named = self.named.iter().map(|(_, value)| value);
        let spread = self.spread.as_deref().into_iter();
        let positional = self.positional.iter().chain(spread);
        positional.chain(named).chain(self.spread_named.as_deref())
    }

    /// Yields the expressions of all arguments.
    pub(super) fn all(&self) -> impl Iterator<Item = &Expr> {
        let named = self.named.iter().map(|(_, value)| value);
        let spread = self.spread.iter().chain(&self.spread_named);
        self.positional
            .iter()
            .chain(named)
            .chain(spread.map(|e| &**e))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

impl BinaryOperator {
    /// Returns the operator as Python's messages show it.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::FloorDivide => "//",
            BinaryOperator::Remainder => "%",
            BinaryOperator::Power => "** or pow()",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompareOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}
