//! Futures kept off the stack.
//!
//! What a script nests, the interpreter's functions nest: each level is polled inside of the one
//! around it. A frame has room for every future that its function can wait for, side by side, so
//! that one level of a script took more than 100 KiB. Futures in boxes take a pointer each.

use std::pin::Pin;

/// Makes a future where it stays, so that the caller's frame need not hold it.
#[inline(never)]
pub(super) fn boxed<F>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
