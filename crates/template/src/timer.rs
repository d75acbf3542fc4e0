//! Waiting with tokio's timer, which wakes a render whose time is up.

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
compile_error!("the feature `timer` needs an operating system: set `default-features = false`");

use std::future::Future;
use std::time::{Duration, Instant};

/// The runtime's clock, which tests may stop.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// How long after an evaluation that `took` so long the next one may begin: results which trickle in
/// must not make a large template be evaluated all the time.
pub(crate) fn rest(took: Duration) -> Duration {
    took * 4
}

/// What a future gives; `None` if the time is up before.
pub(crate) async fn until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    tokio::time::timeout_at(deadline.into(), future).await.ok()
}
