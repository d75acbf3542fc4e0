//! Parsed operands of a tag.

use std::borrow::Cow;
use std::sync::Arc;

use quillet_core::Span;

use super::ast::{Expr, Path};

/// The first operand of a tag.
pub(super) struct TagHead<'s> {
    pub(super) value: HeadValue,
    /// The operand as written, without brackets and quotes.
    pub(super) original: Cow<'s, str>,
    pub(super) span: Span,
}

pub(super) enum HeadValue {
    Path(Path),
    Literal(Expr),
}

/// The operands after the first one.
#[derive(Debug, Default)]
pub(super) struct ArgumentExprs {
    pub(super) positional: Vec<Expr>,
    pub(super) named: Vec<(Arc<str>, Expr)>,
}
