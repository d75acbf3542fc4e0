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
mod tree;

use quillet_core::{Span, Value};

use crate::expression::NameResolver;

pub use equal::equal;
pub use range::{NumberRange, StepError, Values};
pub use regex::{Captures, Regex, RegexError};
use tree::PatternNode;
pub use tree::{Bindings, CONDITION, Code, MAX_LENGTH, MAX_NESTING, MatchError, PatternError};

/// The key of a branch, read once.
#[derive(Clone, Debug)]
pub struct BranchPattern {
    root: PatternNode,
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
