//! What a printed expression takes its value from, for the segments of a render.

use quillet_core::Span;

use super::ast::{Expr, ExprKind, FilterCall};

/// Where the path of the one variable is written that an expression prints, or
/// the name of the function. `None` for an expression over several.
pub(super) fn source(expr: &Expr) -> Option<Span> {
    let mut expr = expr;
    loop {
        expr = match &expr.kind {
            ExprKind::Call(callee, _) => return Some(callee.span),
            ExprKind::Filter(subject, filter) if has_constants_only(filter) => subject,
            _ => return is_path(expr).then_some(expr.span),
        };
    }
}

fn has_constants_only(filter: &FilterCall) -> bool {
    let constant = |expr: &Expr| matches!(expr.kind, ExprKind::Constant(_));
    filter.arguments.all().all(constant)
}

/// A name, and what is taken out of it.
fn is_path(expr: &Expr) -> bool {
    let mut expr = expr;
    loop {
        expr = match &expr.kind {
            ExprKind::Attribute(owner, _) | ExprKind::Item(owner, _) => owner,
            ExprKind::Slice(owner, _) => owner,
            kind => return matches!(kind, ExprKind::Name(_)),
        };
    }
}
