//! Locking without poisoning.

use std::sync::{Mutex, MutexGuard};

use quillet_core::lock::lock;

/// Locks a mutex, even after a panic in another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Guarded values are consistent between statements, so a panic in one branch must not make all
    // later accesses fail.
    lock(&mutex)
}
