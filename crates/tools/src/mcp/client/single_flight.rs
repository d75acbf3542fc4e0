//! Expensive state of a server that all of its calls share: the session or the tool list.
//!
//! A program can take seconds to respond, and one that never responds uses up the whole timeout.
//! Attempts therefore run one at a time in a separate task. Callers wait for the first attempt,
//! within their limit. After a failure they get its error immediately, and further attempts run in
//! the background with growing delays.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use quillet_core::lock::lock;
use quillet_core::tool::{ToolError, ToolErrorKind};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Default wait of callers in a service for a first attempt.
const WAIT: Duration = Duration::from_secs(3);

/// Delay from a failure to the next attempt; doubled after each further failure.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A failure within this time, such as a refused connection or an unknown program, is cheap.
/// Callers therefore wait for the retry, and a recovered server can be used immediately.
const QUICK: Duration = Duration::from_millis(100);

/// Time limits for a server.
#[derive(Debug)]
pub(crate) struct McpTimeouts {
    /// Timeout of one attempt.
    pub(crate) start: Duration,
    /// Wait of a caller, overriding the default.
    wait: Option<Duration>,
    /// Whether servers are initialized before their first call.
    ahead: AtomicBool,
}

impl McpTimeouts {
    pub(crate) fn new(start: Duration, wait: Option<Duration>) -> Self {
        McpTimeouts {
            start,
            wait,
            ahead: AtomicBool::new(false),
        }
    }

    /// Enables initialization in advance. Returns whether it was enabled before.
    pub(crate) fn look_ahead(&self) -> bool {
        self.ahead.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn looks_ahead(&self) -> bool {
        self.ahead.load(Ordering::Relaxed)
    }

    /// Wait of a caller. A process that does not initialize servers in advance runs once, so it
    /// waits for the whole attempt.
    fn wait(&self) -> Duration {
        match self.wait {
            Some(wait) => wait,
            None if self.looks_ahead() => WAIT,
            // The wait is longer than the attempt, so that the caller gets the attempt's own error.
            None => self.start + QUICK * 10,
        }
    }
}

/// One shared value of a server: ready, in progress, or failed.
#[derive(Debug)]
pub(crate) struct SharedConnect<T> {
    what: &'static str,
    patience: Arc<McpTimeouts>,
    shared: Arc<ConnectShared<T>>,
}

#[derive(Debug)]
struct ConnectShared<T> {
    state: Mutex<ConnectState<T>>,
    /// Notified when an attempt has ended.
    ended: watch::Sender<()>,
}

#[derive(Debug)]
struct ConnectState<T> {
    made: Option<T>,
    attempt: Option<Attempt>,
    failure: Option<ConnectFailure>,
}

#[derive(Debug)]
struct Attempt {
    begun: Instant,
    task: AbortOnDropHandle<()>,
}

#[derive(Clone, Debug)]
struct ConnectFailure {
    error: ToolError,
    /// Number of consecutive failures.
    times: u32,
    was_quick: bool,
    retry_at: Instant,
}

/// State of the shared value for one caller.
enum ConnectPoll<T> {
    Made(T),
    Failed(ToolError),
    /// Wait until then, with the error for a timeout.
    Wait(watch::Receiver<()>, Instant, Option<ToolError>),
}

impl<T> SharedConnect<T> {
    /// Creates an empty value. `what` is the expected action of the server, for messages: "greet".
    pub(super) fn new(what: &'static str, patience: Arc<McpTimeouts>) -> Self {
        let state = ConnectState {
            made: None,
            attempt: None,
            failure: None,
        };
        let shared = ConnectShared {
            state: Mutex::new(state),
            ended: watch::Sender::new(()),
        };
        SharedConnect {
            what,
            patience,
            shared: Arc::new(shared),
        }
    }
}

impl<T: Clone + Send + 'static> SharedConnect<T> {
    /// Returns the value. Calls `make` if there is no valid value, and no attempt is running or has
    /// just failed. Dropping `self` aborts the attempt.
    ///
    /// # Errors
    /// The error of the last attempt, or a timeout while the first attempt is running.
    pub(super) async fn get<F>(
        &self,
        server: &impl std::fmt::Display,
        serves: impl Fn(&T) -> bool,
        make: impl FnOnce() -> F,
    ) -> Result<T, ToolError>
    where
        F: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let (mut ended, until, known) = match self.now(&serves, make) {
            ConnectPoll::Made(made) => return Ok(made),
            ConnectPoll::Failed(error) => return Err(error),
            ConnectPoll::Wait(ended, until, known) => (ended, until, known),
        };
        if tokio::time::timeout_at(until, ended.changed())
            .await
            .is_ok()
        {
            let state = self.shared.lock();
            match (&state.made, &state.failure) {
                (Some(made), _) => return Ok(made.clone()),
                (None, Some(failure)) => return Err(failure.error.clone()),
                (None, None) => {}
            }
        }
        Err(known.unwrap_or_else(|| {
            let wait = self.patience.wait();
            ToolError {
                kind: ToolErrorKind::Timeout,
                message: format!(
                    "{server} did not {} within {wait:?} (tools.mcp_wait_ms); still trying",
                    self.what
                ),
                for_model: "the tool cannot be reached yet".to_owned(),
            }
        }))
    }

    fn now<F>(&self, serves: &impl Fn(&T) -> bool, make: impl FnOnce() -> F) -> ConnectPoll<T>
    where
        F: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let mut state = self.shared.lock();
        match &state.made {
            Some(made) if serves(made) => return ConnectPoll::Made(made.clone()),
            // An invalid value must not reach callers that wait for the next attempt.
            _ => state.made = None,
        }
        // A task that panicked has notified no caller.
        if state
            .attempt
            .as_ref()
            .is_some_and(|attempt| attempt.task.is_finished())
        {
            state.attempt = None;
        }
        // The caller subscribes under the lock, so that no notification is missed from here on.
        let ended = self.shared.ended.subscribe();
        let now = Instant::now();
        let begun = match (&state.attempt, &state.failure) {
            (Some(attempt), _) => attempt.begun,
            (None, Some(failure)) if now < failure.retry_at => {
                return ConnectPoll::Failed(failure.remembered(now));
            }
            (None, _) => {
                state.attempt = Some(self.attempt(now, make()));
                now
            }
        };
        match &state.failure {
            None => ConnectPoll::Wait(ended, begun + self.patience.wait(), None),
            Some(failure) if failure.was_quick => {
                ConnectPoll::Wait(ended, begun + QUICK, Some(failure.remembered(now)))
            }
            Some(failure) => ConnectPoll::Failed(failure.remembered(now)),
        }
    }

    fn attempt<F>(&self, begun: Instant, making: F) -> Attempt
    where
        F: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        // The reference is weak, so that dropping the owner ends an attempt.
        let shared = Arc::downgrade(&self.shared);
        let task = tokio::spawn(async move {
            let made = making.await;
            if let Some(shared) = shared.upgrade() {
                shared.end(begun, made);
            }
        });
        Attempt {
            begun,
            task: AbortOnDropHandle::new(task),
        }
    }
}

impl<T> ConnectShared<T> {
    fn lock(&self) -> MutexGuard<'_, ConnectState<T>> {
        lock(&self.state)
    }

    fn end(&self, begun: Instant, made: Result<T, ToolError>) {
        let mut state = self.lock();
        state.attempt = None;
        match made {
            Ok(made) => (state.made, state.failure) = (Some(made), None),
            Err(error) => {
                let times = state.failure.as_ref().map_or(0, |failure| failure.times);
                let pause = PAUSE * 2_u32.saturating_pow(times.min(16));
                state.failure = Some(ConnectFailure {
                    error,
                    times: times.saturating_add(1),
                    was_quick: begun.elapsed() < QUICK,
                    retry_at: Instant::now() + pause.min(LONGEST_PAUSE),
                });
            }
        }
        // The lock is released before the notification, because the notified callers need it.
        drop(state);
        // Unlike `send`, this succeeds without receivers.
        self.ended.send_replace(());
    }
}

impl ConnectFailure {
    fn remembered(&self, now: Instant) -> ToolError {
        let next = self.retry_at.saturating_duration_since(now);
        let next = if next.is_zero() {
            "retrying now".to_owned()
        } else {
            format!("next attempt in {} s", next.as_secs() + 1)
        };
        ToolError {
            message: format!("{} ({next})", self.error.message),
            ..self.error.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn patience(wait: Duration) -> Arc<McpTimeouts> {
        Arc::new(McpTimeouts::new(Duration::from_secs(30), Some(wait)))
    }

    fn silent() -> ToolError {
        ToolError::new(ToolErrorKind::Timeout, "silent")
    }

    /// Attempts that take `takes` and fail; from attempt `works_from` on they return 7.
    struct FakeAttempts {
        takes: Duration,
        works_from: usize,
        attempts: AtomicUsize,
    }

    impl FakeAttempts {
        async fn ask(&self, greeting: &SharedConnect<usize>) -> (Result<usize, String>, Duration) {
            let asked = Instant::now();
            let make = || {
                let number = self.attempts.fetch_add(1, Ordering::SeqCst) + 1;
                let (takes, works) = (self.takes, number >= self.works_from);
                async move {
                    tokio::time::sleep(takes).await;
                    if works { Ok(7) } else { Err(silent()) }
                }
            };
            let got = greeting.get(&"it", |_| true, make).await;
            (got.map_err(|error| error.message), asked.elapsed())
        }

        fn attempts(&self) -> usize {
            self.attempts.load(Ordering::SeqCst)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_costs_one_wait_and_then_nothing() {
        let greeting = SharedConnect::new("greet", patience(Duration::from_secs(3)));
        let server = FakeAttempts {
            takes: Duration::from_secs(30),
            works_from: usize::MAX,
            attempts: AtomicUsize::new(0),
        };
        let (first, waited) = server.ask(&greeting).await;
        assert!(
            first
                .unwrap_err()
                .contains("did not greet within 3s (tools.mcp_wait_ms)")
        );
        assert_eq!(waited, Duration::from_secs(3));
        // The first attempt is still running. An earlier caller has waited for that attempt, so
        // this caller does not wait.
        let (_, waited) = server.ask(&greeting).await;
        assert_eq!(waited, Duration::ZERO);
        tokio::time::sleep(Duration::from_secs(28)).await;
        let (remembered, waited) = server.ask(&greeting).await;
        assert!(remembered.unwrap_err().starts_with("silent"));
        assert_eq!((waited, server.attempts()), (Duration::ZERO, 2));
        // Callers do not wait for later attempts, whose delays grow.
        for _ in 0..600 {
            let (_, waited) = server.ask(&greeting).await;
            assert_eq!(waited, Duration::ZERO);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(
            (8..=14).contains(&server.attempts()),
            "{}",
            server.attempts()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_comes_back_is_used() {
        for (takes, most) in [(0, 1), (10, 3)] {
            let greeting = SharedConnect::new("greet", patience(Duration::from_secs(20)));
            let server = FakeAttempts {
                takes: Duration::from_secs(takes),
                works_from: 2,
                attempts: AtomicUsize::new(0),
            };
            assert!(server.ask(&greeting).await.0.is_err());
            let mut asked = 0;
            loop {
                tokio::time::sleep(Duration::from_secs(6)).await;
                asked += 1;
                let (got, waited) = server.ask(&greeting).await;
                assert!(waited <= QUICK, "{waited:?}");
                if got == Ok(7) {
                    break;
                }
            }
            assert!(asked <= most, "asked {asked} times");
            assert_eq!(server.attempts(), 2);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_together_waits_for_one_attempt() {
        let greeting = SharedConnect::new("greet", patience(Duration::from_secs(3)));
        let server = FakeAttempts {
            takes: Duration::from_secs(2),
            works_from: 1,
            attempts: AtomicUsize::new(0),
        };
        let asked = futures_util::future::join_all((0..20).map(|_| server.ask(&greeting)));
        assert!(asked.await.iter().all(|(got, _)| *got == Ok(7)));
        assert_eq!(server.attempts(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_it_ends_the_attempt() {
        let (ended, told) = tokio::sync::oneshot::channel::<()>();
        let greeting = SharedConnect::<usize>::new("greet", patience(Duration::from_secs(3)));
        let got = greeting.get(
            &"it",
            |_| true,
            || async move {
                let _ended = ended;
                std::future::pending().await
            },
        );
        assert!(got.await.is_err());
        drop(greeting);
        assert!(told.await.is_err());
    }
}
