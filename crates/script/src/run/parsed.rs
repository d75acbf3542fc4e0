//! Cache of the expressions that a run has parsed.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::expression::{Expression, ParsedExpression};
use quillet_core::lock::lock;

/// Maximum number of cached expressions. A script has fewer; the limit is for programs that
/// generate them.
const KEPT: usize = 10_000;

/// Parsed expressions of a run by their text.
#[derive(Debug, Default)]
pub(crate) struct Expressions(Mutex<HashMap<Box<str>, ParsedExpression>>);

impl Expressions {
    pub(super) fn parsed(&self, text: &str) -> ParsedExpression {
        let mut kept = lock(&self.0);
        if let Some(parsed) = kept.get(text) {
            return parsed.clone();
        }
        let parsed = Expression::parse(text);
        if kept.len() < KEPT {
            kept.insert(text.into(), parsed.clone());
        }
        parsed
    }
}
