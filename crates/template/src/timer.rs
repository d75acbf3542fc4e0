//! Waiting with tokio's timer, which wakes a render at its deadline.

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
compile_error!("the feature `timer` needs an operating system: set `default-features = false`");

use std::future::Future;
use std::time::{Duration, Instant};

/// Returns the time on the runtime's clock, which tests may pause.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Returns the minimum delay after an evaluation of this duration. Results that arrive one by one
/// must not cause continuous evaluation of a large template.
pub(crate) fn rest(took: Duration) -> Duration {
    took * 4
}

/// Returns the output of a future, or `None` at the deadline.
pub(crate) async fn until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    tokio::time::timeout_at(deadline.into(), future).await.ok()
}
