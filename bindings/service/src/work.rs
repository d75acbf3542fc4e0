//! A future on the runtime whose calls are made by the thread that waits for its outcome.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quillet::Value;
use quillet_core::lock::lock;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::call_queue::{CallQueue, QueueEvent};
use crate::refusal::BindingError;

/// Output of a background task.
#[derive(Clone, Debug, Default)]
pub struct TaskOutput {
    /// The value; `None` if a script returns none.
    pub value: Option<Value>,
    /// Failed tools without a fallback value: name and reason.
    pub failures: Vec<(String, String)>,
}

impl From<Value> for TaskOutput {
    fn from(value: Value) -> Self {
        TaskOutput {
            value: Some(value),
            failures: Vec::new(),
        }
    }
}

type SharedOutcome = Arc<Mutex<Option<Result<TaskOutput, BindingError>>>>;

/// A task that runs until it ends or is dropped.
#[derive(Debug)]
pub struct BackgroundTask {
    board: CallQueue,
    outcome: SharedOutcome,
    task: AbortHandle,
}

impl BackgroundTask {
    /// Starts a task. `make` receives the queue in which the task requests calls.
    ///
    /// # Errors
    /// The runtime cannot be started.
    pub fn begin<F>(make: impl FnOnce(CallQueue) -> F) -> io::Result<Self>
    where
        F: Future<Output = Result<TaskOutput, BindingError>> + Send + 'static,
    {
        Ok(BackgroundTask::begin_on(&crate::runtime::handle()?, make))
    }

    fn begin_on<F>(runtime: &Handle, make: impl FnOnce(CallQueue) -> F) -> Self
    where
        F: Future<Output = Result<TaskOutput, BindingError>> + Send + 'static,
    {
        let board = CallQueue::default();
        let outcome = SharedOutcome::default();
        let future = make(board.clone());
        let end = CompletionGuard(board.clone());
        let kept = Arc::clone(&outcome);
        let task = runtime.spawn(async move {
            // Signals the end even if the future panics or is aborted.
            let _end = end;
            let done = future.await;
            *lock(&kept) = Some(done);
        });
        BackgroundTask {
            board,
            outcome,
            task: task.abort_handle(),
        }
    }

    /// Waits at most this long for events, and returns all events since the last call. Returns an
    /// empty list if no event occurred, and `None` once there is an outcome.
    #[must_use]
    pub fn news(&self, patience: Duration) -> Option<Vec<QueueEvent>> {
        self.board.news(patience)
    }

    /// Calls a function immediately, and then whenever there are events. A runtime thread calls the
    /// function, so it must not block. The function is dropped when the task has ended.
    pub fn listen(&self, bell: impl Fn() + Send + Sync + 'static) {
        self.board.listen(Arc::new(bell));
    }

    /// Passes the result of a call, or the reason why it failed.
    pub fn answer(&self, call: u64, answer: Result<Value, String>) {
        self.board.answer(call, answer);
    }

    /// Cancels the task.
    pub fn cancel(&self) {
        self.task.abort();
    }

    /// Removes and returns the outcome. The outcome is available once [`BackgroundTask::news`]
    /// returns `None`.
    ///
    /// # Errors
    /// The reason why there is no value.
    pub fn outcome(&self) -> Result<TaskOutput, BindingError> {
        let mut outcome = lock(&self.outcome);
        outcome
            .take()
            .unwrap_or_else(|| Err(BindingError::given_up()))
    }
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Marks the end of a task when dropped.
struct CompletionGuard(CallQueue);

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        self.0.finish();
    }
}

#[cfg(test)]
mod tests {
    use quillet::Map;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn runtime() -> tokio::runtime::Runtime {
        let built = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        built.unwrap()
    }

    async fn asks(board: CallQueue) -> Result<TaskOutput, BindingError> {
        let name = Some(Arc::from("f"));
        let answer = board.call(name, vec![Value::Int(1)], Map::default()).await;
        Ok(TaskOutput::from(answer.unwrap_or_else(Value::from)))
    }

    fn call_of(work: &BackgroundTask) -> u64 {
        match work.news(LONG).as_deref() {
            Some([QueueEvent::Call(call)]) if call.tool.as_deref() == Some("f") => call.id,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_call_is_asked_for_and_answered() {
        let runtime = runtime();
        for (answer, given) in [
            (Ok(Value::Int(2)), Value::Int(2)),
            (Err("no".to_owned()), Value::from("no")),
        ] {
            let work = BackgroundTask::begin_on(runtime.handle(), asks);
            work.answer(call_of(&work), answer);
            assert!(work.news(LONG).is_none());
            assert_eq!(work.outcome().unwrap().value, Some(given));
        }
    }

    #[test]
    fn a_call_that_nobody_waits_for_is_told() {
        let runtime = runtime();
        let work = BackgroundTask::begin_on(runtime.handle(), |board| async move {
            let soon = Duration::from_millis(10);
            let _ = tokio::time::timeout(soon, asks(board)).await;
            Ok(TaskOutput::default())
        });
        let id = call_of(&work);
        assert!(
            matches!(work.news(LONG).as_deref(), Some([QueueEvent::Gone(gone)]) if *gone == id)
        );
        assert!(work.news(LONG).is_none() && work.outcome().is_ok());
    }

    #[test]
    fn what_is_given_up_or_panics_is_over() {
        let runtime = runtime();
        let work = BackgroundTask::begin_on(runtime.handle(), asks);
        call_of(&work);
        work.cancel();
        while work.news(LONG).is_some() {}
        assert!(work.outcome().is_err());
        let work = BackgroundTask::begin_on(runtime.handle(), |_| async {
            assert_eq!(1, 2, "on purpose");
            Ok(TaskOutput::default())
        });
        assert!(work.news(LONG).is_none() && work.outcome().is_err());
    }

    #[test]
    fn a_bell_rings_for_news_that_are_there_already() {
        let runtime = runtime();
        let work =
            BackgroundTask::begin_on(runtime.handle(), |_| async { Ok(TaskOutput::default()) });
        assert!(work.news(LONG).is_none());
        let (sender, rang) = std::sync::mpsc::channel();
        work.listen(move || {
            let _ = sender.send(());
        });
        rang.recv_timeout(LONG).unwrap();
    }
}
