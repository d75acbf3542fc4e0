//! Waiting without a timer: whoever drives the render polls it, and the clock is read on each poll.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::host::Instant;

/// The clock by which it is decided whether to evaluate.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// How long after an evaluation the next one may begin: at once. Nobody would wake the render when a
/// rest is over, and a call that hangs on the result would not begin before another one ends.
pub(crate) fn rest(_: Duration) -> Duration {
    Duration::ZERO
}

/// What a future gives; `None` if it is not ready at a poll behind the deadline.
pub(crate) async fn until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if Instant::now() >= deadline => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_clock_counts_where_the_future_is_not_ready() {
        let (past, later) = (now(), now() + Duration::from_secs(3600));
        assert_eq!(until(past, ready(1)).now_or_never(), Some(Some(1)));
        assert_eq!(until(later, ready(1)).now_or_never(), Some(Some(1)));
        assert_eq!(until(past, pending::<()>()).now_or_never(), Some(None));
        assert_eq!(until(later, pending::<()>()).now_or_never(), None);
    }

    #[test]
    fn an_evaluation_follows_at_once() {
        assert_eq!(rest(Duration::MAX), Duration::ZERO);
    }
}
