//! Idle indicator: a line on the terminal while a model sends nothing.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::terminal::{self, Stream};

/// Idle time before the indicator appears.
const SOON: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_secs(1);

/// Moves to the start of the line and clears it.
const TAKE_AWAY: &str = "\r\u{1b}[2K";

/// Indicator of the time since the last event.
#[derive(Debug)]
pub(crate) struct IdleIndicator {
    since: Instant,
    next: Instant,
    is_shown: bool,
    /// Whether standard error is a terminal that can clear a line.
    is_seen: bool,
}

impl IdleIndicator {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        IdleIndicator {
            since: now,
            next: now + SOON,
            is_shown: false,
            is_seen: Stream::Err.is_terminal()
                // A dumb terminal cannot clear a line, so each tick would add one.
                && std::env::var("TERM").is_ok_and(|it| it != "dumb"),
        }
    }

    /// Shows the idle time once a second; `may_show` is whether the cursor is at the start of a
    /// line. Never completes if the indicator cannot be shown.
    pub(crate) async fn tick(&mut self, may_show: bool) {
        if !self.is_seen || !may_show {
            // If this future completed, the `select!` loop of the caller would spin.
            return std::future::pending().await;
        }
        sleep_until(self.next).await;
        self.next += TICK;
        self.is_shown = true;
        let seconds = self.since.elapsed().as_secs();
        // No new line is written, so that `reset` can clear the text.
        terminal::piece(&format!("{TAKE_AWAY}waiting for the model, {seconds} s"));
    }

    /// Awaits a future and shows the idle time while it is pending.
    pub(crate) async fn until<T>(&mut self, done: impl Future<Output = T>) -> T {
        let mut done = pin!(done);
        let done = loop {
            tokio::select! {
                biased;
                // Polled first, so that nothing is drawn once the answer has arrived.
                done = &mut done => break done,
                () = self.tick(true) => {}
            }
        };
        self.reset();
        done
    }

    /// Clears the line and restarts the idle time.
    pub(crate) fn reset(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            terminal::piece(TAKE_AWAY);
        }
        self.since = Instant::now();
        self.next = self.since + SOON;
    }
}

impl Drop for IdleIndicator {
    fn drop(&mut self) {
        self.reset();
    }
}
