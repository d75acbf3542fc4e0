//! What a run and the worker of its JavaScript are to each other, whichever worker that is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::protocol::{FromWorker, ToWorker};

/// The way to the run.
pub(crate) trait Port {
    /// Says something to the run.
    fn send(&self, message: FromWorker);

    /// Waits for a message, at most until the given time.
    fn receive(&self, until: Option<Instant>) -> ReceiveResult;
}

/// What waiting for a message gave.
#[derive(Debug)]
pub(crate) enum ReceiveResult {
    Message(ToWorker),
    TimedOut,
    Closed,
}

/// What reaches a worker while it computes: read by the interrupt handler.
#[derive(Debug, Default)]
pub(crate) struct Control {
    stopped: AtomicBool,
    cancelled: AtomicU64,
}

impl Control {
    /// Ends the worker.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends a piece, if it is the one that runs.
    pub(crate) fn cancel(&self, piece: u64) {
        self.cancelled.store(piece, Ordering::Relaxed);
    }

    pub(super) fn ends(&self, piece: u64) -> bool {
        let cancelled = self.cancelled.load(Ordering::Relaxed);
        self.stopped.load(Ordering::Relaxed) || (cancelled == piece && piece != 0)
    }
}
