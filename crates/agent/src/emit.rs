//! A stream of events out of one future that runs from top to bottom.
//!
//! Whoever reads the stream drives the future: no task stands between them, an
//! event is handed over without a switch, and a reader that stops reading stops
//! the run. Dropping the stream drops the future.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use futures_util::{Stream, stream};

use crate::AgentEvent;

/// A run as it goes. Dropping it ends every call that is on its way.
pub type EventStream = Pin<Box<dyn Stream<Item = AgentEvent> + Send>>;

/// Where the future puts its events; holds one at a time.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Option<AgentEvent>>>);

impl Events {
    /// Hands one event to the reader; ready when it asks for the next.
    pub(crate) async fn send(&self, event: AgentEvent) {
        *self.slot() = Some(event);
        // Nobody has to wake this: taking the event is what polls it again.
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events of a future, until it is done.
pub(crate) fn stream<F: Future<Output = ()> + Send + 'static>(
    write: impl FnOnce(Events) -> F,
) -> EventStream {
    let events = Events::default();
    let mut future = Some(Box::pin(write(events.clone())));
    Box::pin(stream::poll_fn(move |cx| {
        let Some(running) = &mut future else {
            return Poll::Ready(None);
        };
        let progress = running.as_mut().poll(cx);
        if progress.is_ready() {
            future = None;
        }
        match (events.slot().take(), progress) {
            (Some(event), _) => Poll::Ready(Some(event)),
            (None, Poll::Ready(())) => Poll::Ready(None),
            (None, Poll::Pending) => Poll::Pending,
        }
    }))
}
