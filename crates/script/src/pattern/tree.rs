//! The tree of a pattern, and errors of parsing and matching.

use std::sync::Arc;

use quillet_core::{MapTable, Span, Value};

use super::range::NumberRange;
use super::regex::{Regex, RegexError};
use crate::expression::{EvalError, ParsedExpression};

/// Name by which expressions in patterns and branches refer to the matched value.
pub const CONDITION: &str = "COND__";

/// Maximum length of a pattern in bytes.
pub const MAX_LENGTH: usize = 16 << 10;
/// Maximum nesting depth of a pattern.
pub const MAX_NESTING: usize = 32;

/// Variables that a pattern binds to parts of a value.
pub type Bindings = MapTable;

/// An expression in a pattern.
#[derive(Clone, Debug)]
pub struct Code {
    /// The text as written.
    pub text: Arc<str>,
    /// The parsed expression, which is evaluated natively or by an engine. Never invalid.
    pub parsed: ParsedExpression,
    /// Whether the result decides the match, because the expression uses [`CONDITION`]. Otherwise
    /// the matched value must be [`equal`](super::equal()) to the result.
    pub test: bool,
    /// The location of the expression in the file.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum PatternNode {
    Any,
    Bind(Arc<str>),
    Literal(Option<Value>),
    Regex(Regex),
    Compare(CompareOp, Code),
    Range(NumberRange),
    Code(Code),
    List(ListPattern),
    Object(ObjectPattern),
    Either(Vec<PatternNode>),
    All(Vec<PatternNode>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompareOp {
    Less,
    LessEqual,
    More,
    MoreEqual,
    Equal,
    NotEqual,
}

/// The items before `..`, and those after it if it is present.
#[derive(Clone, Debug, Default)]
pub(super) struct ListPattern {
    pub(super) before: Vec<PatternNode>,
    pub(super) after: Option<Vec<PatternNode>>,
    /// Whether the first item is also bound to `first`.
    pub(super) names_first: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ObjectPattern {
    pub(super) fields: Vec<(Arc<str>, PatternNode)>,
    pub(super) partial: bool,
}

/// Error for an invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// The problem in one sentence without a full stop.
    pub message: String,
    /// The location of the problem in the file.
    pub span: Span,
    /// How to fix the problem.
    pub help: Option<String>,
}

/// Error if it cannot be decided whether a value matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// An expression cannot be evaluated. With [`EvalError::JavaScript`], the pattern needs an
    /// engine and does not consist only of one expression (see
    /// [`BranchPattern::code`](super::BranchPattern::code)).
    #[error("{error}")]
    Expression {
        /// The error of the expression.
        error: EvalError,
        /// The expression's location in the file.
        span: Span,
    },
    /// The search of a regular expression exceeded its limit.
    #[error(transparent)]
    Regex(#[from] RegexError),
}
