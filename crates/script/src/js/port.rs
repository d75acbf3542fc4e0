//! Connection between a run and its JavaScript worker, for threads and processes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::protocol::{FromWorker, ToWorker};

/// A worker's connection to its run.
pub(crate) trait Port {
    /// Sends a message to the run.
    fn send(&self, message: FromWorker);

    /// Waits for a message until the given time at most.
    fn receive(&self, until: Option<Instant>) -> ReceiveResult;
}

/// Result of waiting for a message.
#[derive(Debug)]
pub(crate) enum ReceiveResult {
    Message(ToWorker),
    TimedOut,
    Closed,
}

/// Signals to a computing worker, read by the interrupt handler.
#[derive(Debug, Default)]
pub(crate) struct Control {
    stopped: AtomicBool,
    cancelled: AtomicU64,
}

impl Control {
    /// Stops the worker.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Cancels a job if it is running.
    pub(crate) fn cancel(&self, piece: u64) {
        // A single slot is enough, because a job that is not running receives its cancellation as a
        // message.
        self.cancelled.store(piece, Ordering::Relaxed);
    }

    pub(super) fn ends(&self, piece: u64) -> bool {
        let cancelled = self.cancelled.load(Ordering::Relaxed);
        // Job numbers start at 1, so 0 means that no job is cancelled.
        self.stopped.load(Ordering::Relaxed) || (cancelled == piece && piece != 0)
    }
}
