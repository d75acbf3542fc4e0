//! Handles control-C in a long render.
//!
//! A render runs without the interpreter lock, so Python does not check for signals. The render
//! calls this code about every thousand steps, and it checks for signals every 50 ms.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

const EVERY: Duration = Duration::from_millis(50);

thread_local! {
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Exception raised by a signal handler, kept until the render has ended.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a signal handler has raised an exception.
pub(crate) fn asked() -> bool {
    let now = Instant::now();
    match ASKED.get() {
        Some(last) if now.saturating_duration_since(last) < EVERY => return false,
        Some(_) => {}
        // The first check in a thread only records the time.
        None => {
            ASKED.set(Some(now));
            return false;
        }
    }
    ASKED.set(Some(now));
    let raised = Python::try_attach(|py| py.check_signals().err()).flatten();
    let is_raised = raised.is_some();
    if is_raised {
        RAISED.set(raised);
    }
    is_raised
}

/// Returns the exception, to be raised again by the caller of the render.
pub(crate) fn taken() -> Option<PyErr> {
    RAISED.take()
}
