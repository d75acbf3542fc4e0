//! Memory of a run in bytes: variables, messages and results of scripts.
//!
//! Only additions are counted, not removals, so the running sum is an upper bound. When it may
//! exceed the limit, everything is measured again. This is rare, because at least an eighth of the
//! limit must be added in between.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use quillet_core::Value;

use quillet_core::lock::lock;

/// An owner of memory.
pub(crate) trait MemoryHolder {
    /// Returns its approximate size in bytes.
    fn weight(&self) -> usize;
}

/// Bytes added since the last measurement, and the owners to measure.
#[derive(Debug)]
pub(crate) struct MemoryMeter<H> {
    fresh: AtomicUsize,
    holders: Mutex<Holders<H>>,
}

/// The owners that may still exist.
#[derive(Debug)]
struct Holders<H> {
    all: Vec<Weak<H>>,
    /// Number of entries after which dropped owners are removed.
    most: usize,
}

impl<H: MemoryHolder> MemoryMeter<H> {
    pub(crate) fn new() -> Self {
        let (all, most) = (Vec::new(), 0);
        MemoryMeter {
            fresh: AtomicUsize::new(0),
            holders: Mutex::new(Holders { all, most }),
        }
    }

    /// Counts stored bytes.
    pub(crate) fn add(&self, bytes: usize) {
        self.fresh.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds a script to the owners that are measured.
    pub(crate) fn holder(&self, holder: &Arc<H>) {
        let mut holders = lock(&self.holders);
        if holders.all.len() >= holders.most {
            holders.all.retain(|holder| holder.strong_count() > 0);
            // Doubling the threshold keeps the amortized cost of cleaning up constant.
            holders.most = holders.all.len() * 2 + 16;
        }
        // The reference is weak, so that the meter does not keep finished scripts alive.
        holders.all.push(Arc::downgrade(holder));
    }

    /// Returns whether all owners, plus `beside`, use more than `most` bytes.
    pub(crate) fn exceeds(&self, most: usize, beside: impl FnOnce() -> usize) -> bool {
        // A run may therefore exceed its limit by one eighth before the meter detects it.
        if self.fresh.load(Ordering::Relaxed) <= most / 8 {
            return false;
        }
        self.fresh.store(0, Ordering::Relaxed);
        // The lock is released before `weight`, which locks the state and the dialogue of each
        // owner.
        let holders: Vec<Arc<H>> = {
            let holders = lock(&self.holders);
            holders.all.iter().filter_map(Weak::upgrade).collect()
        };
        let weights = holders.iter().map(|holder| holder.weight());
        weights.fold(beside(), usize::saturating_add) > most
    }
}

/// Returns the size of a value that may be undefined.
pub(crate) fn of(value: Option<&Value>) -> usize {
    value.map_or(0, Value::weight)
}
