//! Background tasks whose calls Python makes; driven by `_drive.py`.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use quillet_bindings::{BindingError, CallQueue, QueueEvent, TaskOutput, runtime};
use quillet_python_values::{object, value};

use crate::error::raised;
use crate::runtime::{TURN, no_runtime};

/// Background task that runs until it ends, is cancelled, or is no longer referenced.
#[pyclass(name = "Work", frozen, module = "quillet_engine_service._service")]
pub(crate) struct PyTask(quillet_bindings::BackgroundTask);

impl PyTask {
    pub(crate) fn begin<F>(make: impl FnOnce(CallQueue) -> F) -> PyResult<Self>
    where
        F: Future<Output = Result<TaskOutput, BindingError>> + Send + 'static,
    {
        let begun = quillet_bindings::BackgroundTask::begin(make);
        Ok(PyTask(begun.map_err(|error| no_runtime(&error))?))
    }
}

/// The value, and the failed tools with their errors.
pub(crate) type TaskResult<'py> = (Bound<'py, PyAny>, Vec<(String, String)>);

#[pymethods]
impl PyTask {
    /// Waits for events and returns all pending ones; `None` once the task has ended.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        loop {
            let news = py.detach(|| self.0.news(TURN));
            py.check_signals()?;
            match news {
                Some(news) if news.is_empty() => {}
                news => return news.map(|news| told(py, news)).transpose(),
            }
        }
    }

    /// Returns pending events without waiting; an empty list if there are none.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let news = self.0.news(Duration::ZERO);
        news.map(|news| told(py, news)).transpose()
    }

    /// Sets a callback that another thread calls whenever there are events.
    fn listen(&self, bell: Py<PyAny>) -> PyResult<()> {
        let runtime = runtime::handle().map_err(|error| no_runtime(&error))?;
        let bell = std::sync::Arc::new(bell);
        self.0.listen(move || {
            let bell = bell.clone();
            // A separate thread waits for the interpreter lock, because the interpreter may have
            // ended.
            runtime.spawn_blocking(move || Python::try_attach(|py| bell.call0(py).map(drop)));
        });
        Ok(())
    }

    /// Passes the result of a call. A value that templates do not support counts as a failure.
    fn answer(&self, call: u64, given: &Bound<'_, PyAny>) {
        let answer = value::read(given).map_err(|error| error.message("its result"));
        self.0.answer(call, answer);
    }

    /// Reports a failed call.
    fn fail(&self, call: u64, message: String) {
        self.0.answer(call, Err(message));
    }

    /// Cancels the task.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns the result once the task has ended: the value, and the failed tools with their
    /// errors.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<TaskResult<'py>> {
        let done = self.0.outcome();
        let done = done.map_err(|refusal| raised(py, &refusal))?;
        let value = object::object(py, &done.value.unwrap_or_default())?;
        Ok((value, done.failures))
    }
}

/// Events as tuples. `call` has a number, the tool name (`None` for the model), and positional and
/// named arguments. `gone` has the number of a cancelled call. `event` has a dict.
fn told(py: Python<'_>, news: Vec<QueueEvent>) -> PyResult<Bound<'_, PyList>> {
    let told = PyList::empty(py);
    for one in news {
        let one = match one {
            QueueEvent::Call(call) => {
                let positional = object::tuple(py, &call.positional)?;
                let named = object::dict(py, &call.named)?;
                let tool = call.tool.as_deref();
                ("call", call.id, tool, positional, named).into_pyobject(py)?
            }
            QueueEvent::Gone(call) => ("gone", call).into_pyobject(py)?,
            QueueEvent::Event(event) => PyTuple::new(
                py,
                [
                    "event".into_pyobject(py)?.into_any(),
                    object::dict(py, &event)?.into_any(),
                ],
            )?,
        };
        told.append(one)?;
    }
    Ok(told)
}
