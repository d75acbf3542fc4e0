//! A sign of life while a model says nothing: a line on the terminal that goes away again.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::terminal::{self, Stream};

/// A shorter silence is no silence.
const SOON: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_secs(1);

/// Goes to the beginning of the line and takes away what stands there.
const TAKE_AWAY: &str = "\r\u{1b}[2K";

/// How long a model has said nothing.
#[derive(Debug)]
pub(crate) struct IdleIndicator {
    since: Instant,
    next: Instant,
    is_shown: bool,
    /// Whether somebody looks, at a terminal that can take a line away.
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
                && std::env::var("TERM").is_ok_and(|it| it != "dumb"),
        }
    }

    /// Shows how long it has been, once a second; `may_show` says whether no line stands open.
    /// Never ends where nobody looks.
    pub(crate) async fn tick(&mut self, may_show: bool) {
        if !self.is_seen || !may_show {
            return std::future::pending().await;
        }
        sleep_until(self.next).await;
        self.next += TICK;
        self.is_shown = true;
        let seconds = self.since.elapsed().as_secs();
        terminal::piece(&format!("{TAKE_AWAY}waiting for the model, {seconds} s"));
    }

    /// What a future gives; meanwhile it is shown how long that takes.
    pub(crate) async fn until<T>(&mut self, done: impl Future<Output = T>) -> T {
        let mut done = pin!(done);
        let done = loop {
            tokio::select! {
                biased;
                // First, so that nothing is drawn any more once the answer is there.
                done = &mut done => break done,
                () = self.tick(true) => {}
            }
        };
        self.reset();
        done
    }

    /// Something was said: the line goes away, and time counts from now.
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
