//! Locking without poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even after a panic in another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // All guarded values are consistent between statements, so a panic in one branch must not make
    // every later access fail.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
