//! Queue in which a background task requests calls; the thread that drives it answers them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use quillet::{Map, Value};
use quillet_core::lock::lock;
use tokio::sync::oneshot;

/// Event for the thread that drives a background task.
#[derive(Debug)]
pub enum QueueEvent {
    /// Request for a function call.
    Call(HostCall),
    /// The call with this number was cancelled.
    Gone(u64),
    /// Event of a script whose events are requested.
    Event(Map),
}

/// Requested function call.
#[derive(Debug)]
pub struct HostCall {
    /// Number used to answer the call.
    pub id: u64,
    /// The name of the tool; `None` for the model.
    pub tool: Option<Arc<str>>,
    /// Positional arguments.
    pub positional: Vec<Value>,
    /// Named arguments.
    pub named: Map,
}

/// Called from any thread when there are events. Must not block.
pub(crate) type NotifyCallback = Arc<dyn Fn() + Send + Sync>;

type CallResult = Result<Value, String>;

/// The queue of one background task. Clones share the queue.
#[derive(Clone, Default)]
pub struct CallQueue(Arc<QueueInner>);

#[derive(Default)]
struct QueueInner {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    news: Vec<QueueEvent>,
    waiting: HashMap<u64, oneshot::Sender<CallResult>>,
    last: u64,
    is_over: bool,
    bell: Option<NotifyCallback>,
}

impl CallQueue {
    /// Locked only briefly, and never while a callback runs: a callback may use the queue itself.
    fn state(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.0.state)
    }

    /// Changes the state and notifies waiters.
    fn change<T>(&self, change: impl FnOnce(&mut QueueState) -> T) -> T {
        let mut state = self.state();
        let changed = change(&mut state);
        let bell = state.bell.clone();
        drop(state);
        self.0.changed.notify_all();
        if let Some(bell) = bell {
            bell();
        }
        changed
    }

    /// Requests the call of a function. Dropping the future cancels the request.
    pub(crate) async fn call(
        &self,
        tool: Option<Arc<str>>,
        positional: Vec<Value>,
        named: Map,
    ) -> CallResult {
        let (sender, receiver) = oneshot::channel();
        let id = self.change(|state| {
            state.last += 1;
            let id = state.last;
            state.waiting.insert(id, sender);
            state.news.push(QueueEvent::Call(HostCall {
                id,
                tool,
                positional,
                named,
            }));
            id
        });
        let _waiting = PendingCall { board: self, id };
        let answer = receiver.await;
        answer.unwrap_or_else(|_| Err("it was cancelled".to_owned()))
    }

    /// Adds an event.
    pub(crate) fn event(&self, event: Map) {
        self.change(|state| state.news.push(QueueEvent::Event(event)));
    }

    /// Marks the end of events. Drops the callback even if clones of the queue exist, because the
    /// callback may keep the process alive.
    pub(crate) fn finish(&self) {
        self.change(|state| state.is_over = true);
        self.state().bell = None;
    }

    /// Calls the callback immediately, and then whenever there are events.
    pub(crate) fn listen(&self, bell: NotifyCallback) {
        let mut state = self.state();
        state.bell = (!state.is_over).then(|| bell.clone());
        drop(state);
        bell();
    }

    /// Returns the events since the last call, after waiting at most this long; `None` once the
    /// task has ended and all events were returned.
    pub(crate) fn news(&self, patience: Duration) -> Option<Vec<QueueEvent>> {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        loop {
            if !state.news.is_empty() {
                return Some(std::mem::take(&mut state.news));
            }
            if state.is_over {
                return None;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(Vec::new());
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.map_or_else(|error| error.into_inner().0, |(state, _)| state);
        }
    }

    /// Stores the result or the error of a call. Does nothing if the request was cancelled.
    pub(crate) fn answer(&self, id: u64, answer: CallResult) {
        let waiting = self.state().waiting.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }
}

impl fmt::Debug for CallQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Board").finish_non_exhaustive()
    }
}

/// Pending call.
struct PendingCall<'a> {
    board: &'a CallQueue,
    id: u64,
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        let was_waiting = self.board.state().waiting.remove(&self.id).is_some();
        if was_waiting {
            let id = self.id;
            self.board
                .change(|state| state.news.push(QueueEvent::Gone(id)));
        }
    }
}
