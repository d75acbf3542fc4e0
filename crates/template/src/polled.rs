//! Deadlines without a timer. The caller polls the render, and each poll reads the clock.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::host::Instant;

/// Returns the time on the clock that schedules evaluations.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Returns the minimum delay between evaluations, which is zero. Without a timer nothing would wake
/// the render after a delay. A call that depends on the result could then start only after another
/// call has completed.
pub(crate) fn rest(_: Duration) -> Duration {
    Duration::ZERO
}

/// Returns the output of a future, or `None` if the future is pending in a poll after the deadline.
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
