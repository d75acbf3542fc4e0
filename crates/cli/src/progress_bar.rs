//! Progress bar: one line on standard error, redrawn on a terminal.
//!
//! The crate indicatif would add three dependencies for these few lines.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use quillet_core::lock::lock;

use crate::cells::truncate;
use crate::chat::sanitize;
use crate::terminal::{self, Stream};

/// Work that ends sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// Minimum time between two redraws.
const PAUSE: Duration = Duration::from_millis(100);
/// Width of the bar in cells.
const SIGNS: u64 = 20;
/// Maximum width of the line in cells.
const MOST_WIDTH: usize = 78;

/// A progress bar.
#[derive(Debug)]
pub(crate) struct ProgressBar {
    is_shown: bool,
    begun: Instant,
    drawn: Mutex<Option<Instant>>,
}

impl ProgressBar {
    /// Creates a bar for work that starts now.
    pub(crate) fn new() -> Self {
        ProgressBar {
            is_shown: Stream::Err.is_terminal(),
            begun: Instant::now(),
            drawn: Mutex::new(None),
        }
    }

    /// Shows the progress, at most once per interval.
    pub(crate) fn set_progress(&self, done: u64, total: u64, what: &str) {
        if !self.is_shown || self.begun.elapsed() < PATIENCE {
            return;
        }
        // A poisoned lock only means a panic while drawing; the time of the last redraw is still
        // usable.
        let mut drawn = lock(&self.drawn);
        if drawn.is_some_and(|at| at.elapsed() < PAUSE) {
            return;
        }
        *drawn = Some(Instant::now());
        terminal::piece(&format!("\r\u{1b}[K{}", line(done, total, what)));
    }
}

/// Clears the line, also after an error or a cancellation.
impl Drop for ProgressBar {
    fn drop(&mut self) {
        let drawn = self.drawn.get_mut().unwrap_or_else(PoisonError::into_inner);
        if drawn.is_some() {
            terminal::piece("\r\u{1b}[K");
        }
    }
}

fn line(done: u64, total: u64, what: &str) -> String {
    // `what` can contain names from a database, which must not control the terminal.
    let what = sanitize(what).replace(['\n', '\t'], " ");
    if total == 0 {
        return truncate(&format!("{what} {done}"), MOST_WIDTH);
    }
    let done = done.min(total);
    let full = u128::from(done) * u128::from(SIGNS) / u128::from(total);
    let full = usize::try_from(full).unwrap_or_default();
    let rest = usize::try_from(SIGNS)
        .unwrap_or_default()
        .saturating_sub(full);
    let bar = format!("{}{}", "━".repeat(full), "╌".repeat(rest));
    truncate(&format!("{bar} {done}/{total} {what}"), MOST_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_it_is() {
        let cases = [
            (0, 4, "━".repeat(0) + &"╌".repeat(20) + " 0/4 columns"),
            (1, 4, "━".repeat(5) + &"╌".repeat(15) + " 1/4 columns"),
            (9, 4, "━".repeat(20) + " 4/4 columns"),
            (7, 0, "columns 7".to_owned()),
        ];
        for (done, total, expected) in cases {
            assert_eq!(line(done, total, "columns"), expected);
        }
        assert!(line(u64::MAX, u64::MAX, "\u{1b}[2J").ends_with("␛[2J"));
        assert!(crate::cells::width(&line(1, 2, &"中".repeat(99))) <= MOST_WIDTH);
    }
}
