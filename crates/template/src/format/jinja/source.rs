//! Sources of printed expressions, for the segments of a render.

use quillet_core::Span;

use super::ast::{Expr, ExprKind, FilterCall};

/// Returns the path of the only variable that an expression prints, or the name of the called
/// function. Returns `None` if several values contribute.
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

/// Whether an expression consists of a name and its accesses.
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
