//! The tree of an expression. Chains are flat, so that a long sum is not a deep tree.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::methods::Method;

#[derive(Debug)]
pub(super) enum ExprNode {
    Literal(Option<Value>),
    Name {
        name: Arc<str>,
        span: Span,
    },
    /// `this`, valid only at the start of an access.
    This,
    Template(Vec<ExprNode>),
    List(Vec<Element>),
    Object(Vec<ObjectProperty>),
    Unary {
        op: Unary,
        operand: Box<ExprNode>,
        span: Span,
    },
    /// `first op a op b` with operators of equal precedence, from left to right.
    Chain {
        first: Box<ExprNode>,
        rest: Vec<(Binary, ExprNode)>,
        span: Span,
    },
    Conditional(Box<[ExprNode; 3]>),
    /// `base.a?.b[c].d()`. A `?.` without a value ends the whole access.
    Access {
        base: Box<ExprNode>,
        steps: Vec<ChainStep>,
    },
}

#[derive(Debug)]
pub(super) struct Element {
    pub(super) node: ExprNode,
    pub(super) spread: Option<Span>,
}

#[derive(Debug)]
pub(super) enum ObjectProperty {
    Field(Arc<str>, ExprNode),
    Computed(ExprNode, ExprNode, Span),
    Spread(ExprNode),
}

#[derive(Debug)]
pub(super) struct ChainStep {
    pub(super) optional: bool,
    pub(super) span: Span,
    pub(super) kind: StepKind,
}

#[derive(Debug)]
pub(super) enum StepKind {
    Field(Arc<str>),
    Index(ExprNode),
    Call(Arc<str>, Method, Vec<ExprNode>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Minus,
    Plus,
    BitNot,
    TypeOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Coalesce,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    NotEqual,
    Same,
    NotSame,
    Less,
    LessEqual,
    More,
    MoreEqual,
    In,
    ShiftLeft,
    ShiftRight,
    ShiftZero,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Binary {
    /// Returns its precedence in ECMAScript, where `??` has the same as `||`.
    pub(super) fn strength(self) -> u8 {
        match self {
            Binary::Coalesce | Binary::Or => 1,
            Binary::And => 2,
            Binary::BitOr => 3,
            Binary::BitXor => 4,
            Binary::BitAnd => 5,
            Binary::Equal | Binary::NotEqual | Binary::Same | Binary::NotSame => 6,
            Binary::Less | Binary::LessEqual | Binary::More | Binary::MoreEqual | Binary::In => 7,
            Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftZero => 8,
            Binary::Add | Binary::Subtract => 9,
            Binary::Multiply | Binary::Divide | Binary::Remainder => 10,
        }
    }

    /// Returns the minimum precedence of an operator on its right side without parentheses. `??`
    /// does not allow `&&` there.
    pub(super) fn right(self) -> u8 {
        match self {
            Binary::Coalesce => Binary::BitOr.strength(),
            other => other.strength() + 1,
        }
    }

    /// Returns whether ECMAScript forbids combining it with `other` without parentheses.
    pub(super) fn clashes(self, other: Binary) -> bool {
        let logical = |op| matches!(op, Binary::Or | Binary::And);
        (self == Binary::Coalesce && logical(other)) || (other == Binary::Coalesce && logical(self))
    }
}
