//! Locks a mutex even if a thread panicked while holding it.

use std::sync::{Mutex, MutexGuard};

use quillet_core::lock::lock;

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave these maps half changed, because every change is a single insert or
    // remove.
    lock(&mutex)
}
