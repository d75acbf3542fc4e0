//! Progress of a batch on standard error: a bar on a terminal, or else a line from time to time.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use quillet_core::batch::{Batch, Status};
use quillet_core::lock::lock;

use crate::progress_bar::ProgressBar;
use crate::terminal::{self, Stream};

/// Interval between lines if standard error is not a terminal.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct BatchProgress {
    bar: ProgressBar,
    /// Whether to write lines.
    lines: bool,
    told: Mutex<ProgressReport>,
}

#[derive(Debug)]
struct ProgressReport {
    at: Instant,
    done: u64,
}

impl BatchProgress {
    pub(super) fn new(wanted: bool) -> Self {
        BatchProgress {
            bar: ProgressBar::new(),
            lines: wanted && !Stream::Err.is_terminal(),
            told: Mutex::new(ProgressReport {
                at: Instant::now(),
                done: 0,
            }),
        }
    }

    pub(super) fn report(&self, batch: &Batch) {
        let done = batch.completed + batch.failed;
        let failed = match batch.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        self.bar
            .set_progress(done, batch.total, &format!("rows{failed}"));
        if !self.lines {
            return;
        }
        let mut told = lock(&self.told);
        let time = told.at.elapsed();
        // The last line is always written, so a log ends with the final count.
        if time < PAUSE && !batch.status.is_final() {
            return;
        }
        if batch.status == Status::Validating {
            terminal::note("checking the file");
        } else {
            // Two reports may occur at the same instant, and dividing by zero would print `inf`.
            let rate = done.saturating_sub(told.done) as f64 / time.as_secs_f64().max(0.001);
            terminal::note(&format!("{done}/{} rows{failed}, {rate:.0}/s", batch.total));
        }
        *told = ProgressReport {
            at: Instant::now(),
            done,
        };
    }
}
