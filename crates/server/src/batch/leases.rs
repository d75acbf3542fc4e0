//! The batches and the chunks leased by a worker.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use quillet_core::batch::BatchOrder;
use quillet_core::lock::lock;
use tokio_util::sync::CancellationToken;

use super::dispatch::RowDispatcher;

/// A batch in progress.
#[derive(Debug)]
pub(super) struct BatchLease {
    pub(super) order: BatchOrder,
    pub(super) door: RowDispatcher,
    /// Whether the batch has expired, so that its remaining rows get an error without a model call.
    expiring: AtomicBool,
    /// Stops the rows immediately.
    pub(super) end: CancellationToken,
}

impl BatchLease {
    pub(super) fn new(order: BatchOrder, door: RowDispatcher) -> Self {
        BatchLease {
            order,
            door,
            expiring: AtomicBool::new(false),
            end: CancellationToken::new(),
        }
    }

    pub(super) fn is_expiring(&self) -> bool {
        self.expiring.load(Ordering::Relaxed)
    }

    pub(super) fn expire(&self) {
        self.expiring.store(true, Ordering::Relaxed);
    }
}

/// All batches of a worker and their leased chunks.
#[derive(Debug, Default)]
pub(super) struct LeasedBatches {
    all: Mutex<BTreeMap<String, Arc<BatchLease>>>,
    /// The order in which batches provide chunks. They take turns, so that a large batch does not
    /// delay the others.
    turns: Mutex<Vec<Arc<BatchLease>>>,
    held: Mutex<BTreeMap<String, BTreeSet<u64>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    lock(mutex)
}

impl LeasedBatches {
    pub(super) fn get(&self, id: &str) -> Option<Arc<BatchLease>> {
        locked(&self.all).get(id).cloned()
    }

    pub(super) fn put(&self, hand: Arc<BatchLease>) {
        locked(&self.all).insert(hand.order.id.clone(), hand);
    }

    /// Removes a batch and stops its rows.
    pub(super) fn drop(&self, id: &str) {
        if let Some(hand) = locked(&self.all).remove(id) {
            hand.end.cancel();
        }
    }

    /// Removes all batches except these.
    pub(super) fn keep_only(&self, ids: &[String]) {
        let gone = |id: &&String| !ids.contains(id);
        let gone: Vec<String> = locked(&self.all).keys().filter(gone).cloned().collect();
        for id in gone {
            self.drop(&id);
        }
    }

    /// Returns the batches that may have chunks, rotated by one on each call.
    pub(super) fn turns(&self) -> Vec<Arc<BatchLease>> {
        let mut turns = locked(&self.turns);
        if !turns.is_empty() {
            // The first batch of this call is the last one of the next call.
            turns.rotate_left(1);
        }
        turns.clone()
    }

    pub(super) fn set_turns(&self, hands: Vec<Arc<BatchLease>>) {
        let mut turns = locked(&self.turns);
        let same = |a: &[Arc<BatchLease>], b: &[Arc<BatchLease>]| {
            a.len() == b.len()
                && a.iter()
                    .all(|hand| b.iter().any(|other| Arc::ptr_eq(hand, other)))
        };
        // Replacing an equal list would reset the rotation, and the first batch would always be
        // first.
        if !same(&turns, &hands) {
            *turns = hands;
        }
    }

    pub(super) fn add_chunk(&self, batch: &str, unit: u64) {
        locked(&self.held)
            .entry(batch.to_owned())
            .or_default()
            .insert(unit);
    }

    pub(super) fn release(&self, batch: &str, unit: u64) {
        let mut held = locked(&self.held);
        if let Some(units) = held.get_mut(batch) {
            units.remove(&unit);
            if units.is_empty() {
                held.remove(batch);
            }
        }
    }

    pub(super) fn leased_chunks(&self) -> Vec<(String, Vec<u64>)> {
        let held = locked(&self.held);
        let each = held
            .iter()
            .map(|(id, units)| (id.clone(), units.iter().copied().collect()));
        each.collect()
    }
}
