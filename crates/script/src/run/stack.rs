//! Boxed futures, to limit stack use.
//!
//! Nested instructions of a script become nested calls of the interpreter, each polled within the
//! outer one. A frame has room for every future that its function may await, so one level of a
//! script took more than 100 KiB. A boxed future takes only a pointer.

use std::pin::Pin;

/// Creates a future directly on the heap, so that it takes no space in the caller's frame.
#[inline(never)]
pub(super) fn boxed<F>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
