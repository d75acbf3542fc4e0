//! Waiting for the runtime without the lock of the interpreter.

use std::cell::RefCell;
use std::future::Future;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use quillet_bindings::{BindingError, runtime};
use quillet_store::ForkGuard;

use crate::error::raised;

/// How often the interpreter is asked for signals while something is waited for.
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

/// That the system gives no thread.
pub(crate) fn no_runtime(error: &std::io::Error) -> PyErr {
    PyRuntimeError::new_err(format!("the threads of stores cannot be started: {error}"))
}

/// Waits for what needs no function of Python.
///
/// # Errors
/// Its own, or what a handler of signals raised: the work is dropped then.
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
