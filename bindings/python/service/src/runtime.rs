//! Waits for the runtime without holding the interpreter lock.

use std::cell::RefCell;
use std::future::Future;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use quillet_bindings::{BindingError, runtime};
use quillet_store::ForkGuard;

use crate::error::raised;

/// Interval of signal checks during a wait.
pub(crate) const TURN: Duration = Duration::from_millis(50);

thread_local! {
    static FORKING: RefCell<Option<ForkGuard>> = const { RefCell::new(None) };
}

/// Waits until no SQLite store works. Python calls it before it forks.
#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) {
    py.detach(|| FORKING.set(Some(ForkGuard::acquire())));
}

/// Lets SQLite stores continue. Python calls it after a fork, in the parent and in the child.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKING.take();
}

/// Error: the system cannot start a thread.
pub(crate) fn no_runtime(error: &std::io::Error) -> PyErr {
    PyRuntimeError::new_err(format!("the threads of stores cannot be started: {error}"))
}

/// Waits for work that does not call Python functions.
///
/// # Errors
/// The error of the work, or an exception of a signal handler, after which the work is dropped.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    work: impl Future<Output = Result<T, BindingError>> + Send,
) -> PyResult<T> {
    let runtime = runtime::handle().map_err(|error| no_runtime(&error))?;
    let done = py.detach(|| {
        runtime.block_on(async {
            let mut work = std::pin::pin!(work);
            loop {
                tokio::select! {
                    done = &mut work => return Ok::<_, PyErr>(done),
                    () = tokio::time::sleep(TURN) => Python::attach(|py| py.check_signals())?,
                }
            }
        })
    })?;
    done.map_err(|refusal| raised(py, &refusal))
}
