//! The runtime on whose threads stores are followed.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

/// Made at the first use, for this process: one that is forked has no threads of it.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The runtime of this process.
///
/// # Errors
/// The system gives no thread.
fn runtime() -> std::io::Result<&'static Runtime> {
    let mut kept = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    match *kept {
        Some((process, runtime)) if process == std::process::id() => Ok(runtime),
        _ => {
            let made = Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()?;
            // It lives as long as the process does.
            let runtime: &'static Runtime = Box::leak(Box::new(made));
            *kept = Some((std::process::id(), runtime));
            Ok(runtime)
        }
    }
}

/// Waits for a future without the lock of the interpreter.
///
/// # Errors
/// There is no runtime, or a handler of signals raised something: the work is dropped then.
pub(crate) fn wait<T: Send>(py: Python<'_>, work: impl Future<Output = T> + Send) -> PyResult<T> {
    if Handle::try_current().is_ok() {
        let inside =
            "a function that was called by a script or a prompt cannot wait for another one";
        return Err(PyRuntimeError::new_err(inside));
    }
    let runtime = runtime().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    py.detach(|| {
        runtime.block_on(async {
            let mut work = std::pin::pin!(work);
            loop {
                let pause = tokio::time::sleep(Duration::from_millis(50));
                tokio::select! {
                    done = &mut work => return Ok(done),
                    () = pause => Python::attach(|py| py.check_signals())?,
                }
            }
        })
    })
}
