//! Converts a sequential future into a stream of events.
//!
//! The reader of the stream drives the future, without a task in between. Passing an event
//! therefore needs no thread switch, and a reader that stops reading pauses the run. Dropping the
//! stream drops the future.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use quillet_core::lock::lock;

use futures_util::{Stream, stream};

use crate::AgentEvent;

/// Event stream of a run. Dropping it stops every call in progress.
pub type EventStream = Pin<Box<dyn Stream<Item = AgentEvent> + Send>>;

/// Slot for one event from the future.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Option<AgentEvent>>>);

impl Events {
    /// Passes one event to the reader. Resolves when the reader requests the next one.
    pub(crate) async fn send(&self, event: AgentEvent) {
        *self.slot() = Some(event);
        // No waker is needed, because the reader polls this future again after taking the event.
        poll_fn(|_| {
            if self.slot().is_none() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<AgentEvent>> {
        lock(&self.0)
    }
}

/// Creates the event stream of a future.
pub(crate) fn stream<F: Future<Output = ()> + Send + 'static>(
    write: impl FnOnce(Events) -> F,
) -> EventStream {
    let events = Events::default();
    let mut future = Some(Box::pin(write(events.clone())));
    Box::pin(stream::poll_fn(move |cx| {
        let Some(running) = &mut future else {
            return Poll::Ready(None);
        };
        // The slot is empty here, so a pending `send` can see that its event was taken.
        let progress = running.as_mut().poll(cx);
        // Dropped immediately, because a completed future must not be polled again.
        if progress.is_ready() {
            future = None;
        }
        match (events.slot().take(), progress) {
            // An event that the last poll produced is returned before the stream ends.
            (Some(event), _) => Poll::Ready(Some(event)),
            (None, Poll::Ready(())) => Poll::Ready(None),
            (None, Poll::Pending) => Poll::Pending,
        }
    }))
}
