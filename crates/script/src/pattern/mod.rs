//! Patterns of `$match` and ranges of `$for`.
//!
//! A pattern is the key of a branch. It starts with a colon, followed by one of these:
//! - `/RegEx/flags`, for texts and numbers; named groups become variables;
//! - `> 12`, `>=`, `<`, `<=`, `!=`, `==` and any expression;
//! - `"text"`, `123`, `true`, `null`: the whole value, where a number equals its digits;
//! - `1..5`, `1..<5`, `1>..5`: a range;
//! - `['a,b', _, name, ..]`: a list, item by item: `_` matches anything, a name binds the item,
//!   `..` matches any number of items. The first item is also bound to `first`;
//! - `{x='a', y=':1||2'}`: an object with exactly these fields, or `{x='a', ..}` with additional
//!   ones; a text that starts with a colon is itself a pattern;
//! - `a || b`, `a && b` of these;
//! - any other expression: if it contains `COND__`, its result decides, otherwise the value must
//!   equal its result.
//!
//! `_` alone matches if no other branch does.

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

/// The parsed key of a branch.
#[derive(Clone, Debug)]
pub struct BranchPattern {
    root: PatternNode,
}

impl BranchPattern {
    /// Parses the key of a branch. `base` is its span in the file.
    ///
    /// # Errors
    /// The pattern is invalid, longer than [`MAX_LENGTH`], or nested deeper than [`MAX_NESTING`].
    pub fn parse(key: &str, base: Span) -> Result<BranchPattern, PatternError> {
        parse::pattern(key, base).map(|root| BranchPattern { root })
    }

    /// Returns whether the pattern is `_`, whose branch runs if no other pattern matches.
    #[must_use]
    pub fn is_else(&self) -> bool {
        matches!(self.root, PatternNode::Any)
    }

    /// Returns the expression if the pattern consists only of an expression. The caller must
    /// evaluate an expression that needs an engine.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        match &self.root {
            PatternNode::Code(code) => Some(code),
            _ => None,
        }
    }

    /// Matches a value against the pattern. Names are added to `bindings` only if the value
    /// matches.
    ///
    /// # Errors
    /// Returns a [`MatchError`] if the match cannot be decided.
    pub fn matches(
        &self,
        value: &Option<Value>,
        bindings: &mut Bindings,
        names: &dyn NameResolver,
    ) -> Result<bool, MatchError> {
        matching::matches(&self.root, value, bindings, names)
    }
}
