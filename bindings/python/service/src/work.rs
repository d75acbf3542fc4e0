//! Work whose calls Python makes: `_drive.py` drives it.

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

/// A value, and the tools that failed with their reasons.
pub(crate) type TaskResult<'py> = (Bound<'py, PyAny>, Vec<(String, String)>);

#[pymethods]
impl PyTask {
    /// Waits for news, and gives all there are; `None` once it has ended.
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

    /// The same without waiting; an empty list if there is none.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let news = self.0.news(Duration::ZERO);
        news.map(|news| told(py, news)).transpose()
    }

    /// Has a function called from another thread whenever there is news.
    fn listen(&self, bell: Py<PyAny>) -> PyResult<()> {
        let runtime = runtime::handle().map_err(|error| no_runtime(&error))?;
        let bell = std::sync::Arc::new(bell);
        self.0.listen(move || {
            let bell = bell.clone();
            // The interpreter's lock is waited for on a thread that carries nothing else. There may
            // be no interpreter any more.
            runtime.spawn_blocking(move || Python::try_attach(|py| bell.call0(py).map(drop)));
        });
        Ok(())
    }

    /// Gives what a call gave. A value that no template has counts as a failure.
    fn answer(&self, call: u64, given: &Bound<'_, PyAny>) {
        let answer = value::read(given).map_err(|error| error.message("its result"));
        self.0.answer(call, answer);
    }

    /// Says that a call failed.
    fn fail(&self, call: u64, message: String) {
        self.0.answer(call, Err(message));
    }

    /// Gives it up.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns its result once it has ended: the value, and the failed tools with their errors.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<TaskResult<'py>> {
        let done = self.0.outcome();
        let done = done.map_err(|refusal| raised(py, &refusal))?;
        let value = object::object(py, &done.value.unwrap_or_default())?;
        Ok((value, done.failures))
    }
}

/// Tuples of a word and what belongs to it: `call`, its number, the name of the tool or `None` for the
/// model, arguments by position and by name; `gone` and the number of a call; `event` and a dict.
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
