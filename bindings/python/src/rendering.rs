//! A render whose calls a Python event loop makes.

use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use quillet::{RenderStep, RenderedTemplate};

use crate::template::{PySegment, messages, segments};
use crate::tools;
use quillet_python_values::value;

/// A render in progress, driven by `_template.py`.
#[pyclass(name = "Rendering", frozen, module = "quillet_engine._engine")]
pub(crate) struct PyRendering(Mutex<RenderState>);

struct RenderState {
    rendering: quillet::Rendering,
    rendered: Option<RenderedTemplate>,
}

/// A pending call: its number, the function, and its positional and named arguments.
type PendingCall<'py> = (usize, String, Bound<'py, PyTuple>, Bound<'py, PyDict>);

impl PyRendering {
    pub(crate) fn new(rendering: quillet::Rendering) -> Self {
        PyRendering(Mutex::new(RenderState {
            rendering,
            rendered: None,
        }))
    }

    /// Locked only with `try_lock`, because the holder may be waiting for the interpreter lock.
    fn way(&self) -> PyResult<MutexGuard<'_, RenderState>> {
        let busy = "another thread is using this render";
        self.0.try_lock().map_err(|_| PyRuntimeError::new_err(busy))
    }

    fn with_rendered<T>(&self, take: impl FnOnce(&RenderedTemplate) -> PyResult<T>) -> PyResult<T> {
        match &self.way()?.rendered {
            Some(rendered) => take(rendered),
            None => Err(PyRuntimeError::new_err("the render has not ended")),
        }
    }
}

#[pymethods]
impl PyRendering {
    /// Calls newly requested by the render; `None` when it has ended.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<PendingCall<'py>>>> {
        let mut way = self.way()?;
        match tools::step(py, &mut way.rendering)? {
            RenderStep::Done(rendered) => {
                way.rendered = Some(rendered);
                Ok(None)
            }
            RenderStep::Waiting(calls) => {
                let calls = calls.into_iter().map(|call| {
                    let (arguments, named) = tools::arguments(py, &call)?;
                    Ok((call.id, call.function, arguments, named))
                });
                Ok(Some(calls.collect::<PyResult<_>>()?))
            }
        }
    }

    /// Passes the result of a call. A value that templates do not support counts as a failure.
    fn answer(&self, call: usize, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let answer = value::read(given).map_err(|error| error.message("its result"));
        self.way()?.rendering.answer(call, answer);
        Ok(())
    }

    /// Reports a failed call.
    fn fail(&self, call: usize, message: String) -> PyResult<()> {
        self.way()?.rendering.answer(call, Err(message));
        Ok(())
    }

    /// Reports that all pending calls failed.
    fn fail_all(&self, message: &str) -> PyResult<()> {
        self.way()?.rendering.fail_calls(message);
        Ok(())
    }

    /// Remaining seconds of the time limit.
    fn time_left(&self) -> PyResult<f64> {
        Ok(self.way()?.rendering.time_left().as_secs_f64())
    }

    /// Returns the text, once the render has ended.
    fn text(&self) -> PyResult<String> {
        self.with_rendered(|rendered| Ok(rendered.text()))
    }

    /// Returns the messages, once the render has ended.
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.with_rendered(|rendered| messages(py, rendered))
    }

    /// Returns the segments of the text, once the render has ended.
    fn segments(&self) -> PyResult<Vec<PySegment>> {
        self.with_rendered(|rendered| Ok(segments(rendered)))
    }

    /// Warns about failed calls.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let rendered = match &self.way()?.rendered {
            Some(rendered) => rendered.clone(),
            None => return Ok(()),
        };
        tools::warn(py, &rendered)
    }
}
