//! Locking a mutex whatever happened to its last owner.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while the lock was held cannot leave these maps half changed: every change is a
    // single insert or remove.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
