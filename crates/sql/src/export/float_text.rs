//! Floating-point numbers as text.

use std::borrow::Cow;

/// Formats a number with the shortest digits that parse to the same number. Values that JSON cannot
/// represent use the names of PostgreSQL and JavaScript.
pub(super) fn float(number: f64) -> Cow<'static, str> {
    match number {
        n if n.is_nan() => Cow::Borrowed("NaN"),
        f64::INFINITY => Cow::Borrowed("Infinity"),
        f64::NEG_INFINITY => Cow::Borrowed("-Infinity"),
        n => Cow::Owned(format!("{n:?}")),
    }
}
