//! Bytes that a run keeps: variables, messages, results of scripts.
//!
//! What comes is added up, what goes is not; so the sum says too much. Where it may be too much,
//! all that is there is counted again: seldom, since an eighth of the limit has to come in between.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use quillet_core::Value;

use super::lock::lock;

/// What keeps something.
pub(crate) trait MemoryHolder {
    /// Its bytes in memory, about.
    fn weight(&self) -> usize;
}

/// What has come since the last count, and whom to count.
#[derive(Debug)]
pub(crate) struct MemoryMeter<H> {
    fresh: AtomicUsize,
    holders: Mutex<Holders<H>>,
}

/// The holders of a run that may still be there.
#[derive(Debug)]
struct Holders<H> {
    all: Vec<Weak<H>>,
    /// How many there may be before those that are gone are taken out.
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

    /// Something was stored.
    pub(crate) fn add(&self, bytes: usize) {
        self.fresh.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A script of the run, to be counted.
    pub(crate) fn holder(&self, holder: &Arc<H>) {
        let mut holders = lock(&self.holders);
        if holders.all.len() >= holders.most {
            holders.all.retain(|holder| holder.strong_count() > 0);
            holders.most = holders.all.len() * 2 + 16;
        }
        holders.all.push(Arc::downgrade(holder));
    }

    /// Whether all holders, and what stands `beside` them, keep more than so many bytes.
    pub(crate) fn exceeds(&self, most: usize, beside: impl FnOnce() -> usize) -> bool {
        if self.fresh.load(Ordering::Relaxed) <= most / 8 {
            return false;
        }
        self.fresh.store(0, Ordering::Relaxed);
        let holders: Vec<Arc<H>> = {
            let holders = lock(&self.holders);
            holders.all.iter().filter_map(Weak::upgrade).collect()
        };
        let weights = holders.iter().map(|holder| holder.weight());
        weights.fold(beside(), usize::saturating_add) > most
    }
}

/// The weight of a value that may be undefined.
pub(crate) fn of(value: Option<&Value>) -> usize {
    value.map_or(0, Value::weight)
}
