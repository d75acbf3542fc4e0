//! Locks that stay usable after a panic.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks a mutex, even if a thread panicked while it held the lock.
///
/// Use this function if every critical section leaves valid data, even when it panics. A panic in
/// one request then does not make the shared state unusable for later requests.
///
/// ```
/// use std::sync::Mutex;
///
/// use quillet_core::lock::lock;
///
/// let count = Mutex::new(1);
/// *lock(&count) += 1;
/// assert_eq!(*lock(&count), 2);
/// ```
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading, even if a thread panicked while it held the lock; see [`lock`].
///
/// # Examples
///
/// ```
/// use std::sync::RwLock;
///
/// use quillet_core::lock::{read, write};
///
/// let names = RwLock::new(vec!["a"]);
/// write(&names).push("b");
/// assert_eq!(*read(&names), ["a", "b"]);
/// ```
pub fn read<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing, even if a thread panicked while it held the lock; see [`lock`].
pub fn write<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisoned_locks_stay_usable() {
        let (mutex, shared) = (Mutex::new(1), RwLock::new(1));
        std::thread::scope(|scope| {
            let panicking = scope.spawn(|| {
                let _guards = (lock(&mutex), write(&shared));
                panic!("poisons both locks");
            });
            assert!(panicking.join().is_err());
        });
        assert!(mutex.is_poisoned() && shared.is_poisoned());
        *lock(&mutex) += 1;
        *write(&shared) += 1;
        assert_eq!((*lock(&mutex), *read(&shared)), (2, 2));
    }
}
