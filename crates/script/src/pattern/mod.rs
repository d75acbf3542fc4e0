//! The patterns of `$match` and the ranges of `$for`.
//!
//! A pattern is the key of a branch: a colon, then
//! - `/RegEx/flags`, over texts and numbers; named groups become variables;
//! - `> 12`, `>=`, `<`, `<=`, `!=`, `==` and any expression;
//! - `"text"`, `123`, `true`, `null`: the whole value, where a number and its digits are one;
//! - `1..5`, `1..<5`, `1>..5`: a range;
//! - `['a,b', _, name, ..]`: a list, item by item: `_` is anything, a name takes the item,
//!   `..` is any number of items. The first item is also `first`;
//! - `{x='a', y=':1||2'}`: an object with these fields and no others, `{x='a', ..}` with
//!   others, too; a text that begins with a colon is itself a pattern;
//! - `a || b`, `a && b` of these;
//! - any other expression: with `COND__` in it, it says whether it matches, else it is the
//!   value to be equal to.
//!
//! And `_` alone is the branch for what nothing else matched.

mod equal;
mod matching;
mod parse;
pub mod range;
pub mod regex;
mod translate;

use std::sync::Arc;

use quillet_core::{MapTable, Span, Value};

use crate::expression::{EvalError, NameResolver, ParsedExpression};

pub use equal::equal;
pub use range::{NumberRange, StepError, Values};
pub use regex::{Captures, Regex, RegexError};

/// The condition's name inside of patterns and branches.
pub const CONDITION: &str = "COND__";

/// A pattern longer than this many bytes is refused.
pub const MAX_LENGTH: usize = 16 << 10;
/// Patterns nested deeper than this are refused.
pub const MAX_NESTING: usize = 32;

/// Names that patterns gave to parts of a value.
pub type Bindings = MapTable;

/// The key of a branch, read once.
#[derive(Clone, Debug)]
pub struct BranchPattern {
    root: PatternNode,
}

/// An expression inside of a pattern.
#[derive(Clone, Debug)]
pub struct Code {
    /// As it was written.
    pub text: Arc<str>,
    /// Native, or for an engine. Never invalid.
    pub parsed: ParsedExpression,
    /// Whether it says by itself if it matches, since it asks about [`CONDITION`]; else it is
    /// a value to be [`equal`] to.
    pub test: bool,
    /// Its place in the file.
    pub span: Span,
}

#[derive(Clone, Debug)]
enum PatternNode {
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
enum CompareOp {
    Less,
    LessEqual,
    More,
    MoreEqual,
    Equal,
    NotEqual,
}

/// Items before `..`, and after it where there is one.
#[derive(Clone, Debug, Default)]
struct ListPattern {
    before: Vec<PatternNode>,
    after: Option<Vec<PatternNode>>,
    /// Whether the first item also is `first`.
    names_first: bool,
}

#[derive(Clone, Debug, Default)]
struct ObjectPattern {
    fields: Vec<(Arc<str>, PatternNode)>,
    partial: bool,
}

/// The error of a key that cannot be read as a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// Where, in the file.
    pub span: Span,
    /// How to fix it.
    pub help: Option<String>,
}

/// The error of a match that could not be decided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// An expression has no value. [`EvalError::JavaScript`]: the pattern needs an engine,
    /// and is not one expression alone (see [`BranchPattern::code`]).
    #[error("{error}")]
    Expression {
        /// Why.
        error: EvalError,
        /// The expression's place in the file.
        span: Span,
    },
    /// The search of a regular expression did not end.
    #[error(transparent)]
    Regex(#[from] RegexError),
}

impl BranchPattern {
    /// Reads the key of a branch; `base` is its place in the file.
    ///
    /// # Errors
    /// Not a pattern, one longer than [`MAX_LENGTH`], or nested deeper than [`MAX_NESTING`].
    pub fn parse(key: &str, base: Span) -> Result<BranchPattern, PatternError> {
        parse::pattern(key, base).map(|root| BranchPattern { root })
    }

    /// Whether it is `_`, the branch for what nothing else matched.
    #[must_use]
    pub fn is_else(&self) -> bool {
        matches!(self.root, PatternNode::Any)
    }

    /// The expression, where the pattern is nothing else: one that needs an engine is
    /// evaluated by whoever has one.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        match &self.root {
            PatternNode::Code(code) => Some(code),
            _ => None,
        }
    }

    /// Whether a value matches. Names are added to `bindings` only if it does.
    ///
    /// # Errors
    /// [`MatchError`].
    pub fn matches(
        &self,
        value: &Option<Value>,
        bindings: &mut Bindings,
        names: &dyn NameResolver,
    ) -> Result<bool, MatchError> {
        matching::matches(&self.root, value, bindings, names)
    }
}
