//! Floating-point numbers as text.

use std::borrow::Cow;

/// The shortest digits that are this number again. What JSON has no numbers for is called
/// as PostgreSQL and JavaScript call it.
pub(super) fn float(number: f64) -> Cow<'static, str> {
    match number {
        n if n.is_nan() => Cow::Borrowed("NaN"),
        f64::INFINITY => Cow::Borrowed("Infinity"),
        f64::NEG_INFINITY => Cow::Borrowed("-Infinity"),
        n => Cow::Owned(format!("{n:?}")),
    }
}
