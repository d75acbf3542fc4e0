//! A render whose calls an event loop of Python makes.

use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use quillet::{RenderStep, RenderedTemplate};

use crate::template::{PySegment, messages, segments};
use crate::tools;
use quillet_python_values::value;

/// Render in progress: `_template.py` drives it.
#[pyclass(name = "Rendering", frozen, module = "quillet_engine._engine")]
pub(crate) struct PyRendering(Mutex<RenderState>);

struct RenderState {
    rendering: quillet::Rendering,
    rendered: Option<RenderedTemplate>,
}

/// A call that is waited for: its number, the function, its arguments by position and by name.
type PendingCall<'py> = (usize, String, Bound<'py, PyTuple>, Bound<'py, PyDict>);

impl PyRendering {
    pub(crate) fn new(rendering: quillet::Rendering) -> Self {
        PyRendering(Mutex::new(RenderState {
            rendering,
            rendered: None,
        }))
    }

    /// Only locked with `try_lock`: its holder may be waiting for the interpreter's lock.
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
    /// The calls that are newly waited for; `None` when the render has ended.
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

    /// Gives what a call gave. A value that no template has counts as a failure.
    fn answer(&self, call: usize, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let answer = value::read(given).map_err(|error| error.message("its result"));
        self.way()?.rendering.answer(call, answer);
        Ok(())
    }

    /// Says that a call failed.
    fn fail(&self, call: usize, message: String) -> PyResult<()> {
        self.way()?.rendering.answer(call, Err(message));
        Ok(())
    }

    /// Says that all calls failed that are waited for.
    fn fail_all(&self, message: &str) -> PyResult<()> {
        self.way()?.rendering.fail_calls(message);
        Ok(())
    }

    /// Seconds that are left of the limit on time.
    fn time_left(&self) -> PyResult<f64> {
        Ok(self.way()?.rendering.time_left().as_secs_f64())
    }

    /// The text, once the render has ended.
    fn text(&self) -> PyResult<String> {
        self.with_rendered(|rendered| Ok(rendered.text()))
    }

    /// The messages, once the render has ended.
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.with_rendered(|rendered| messages(py, rendered))
    }

    /// The pieces of the text, once the render has ended.
    fn segments(&self) -> PyResult<Vec<PySegment>> {
        self.with_rendered(|rendered| Ok(segments(rendered)))
    }

    /// Warns of the calls that failed.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let rendered = match &self.way()?.rendered {
            Some(rendered) => rendered.clone(),
            None => return Ok(()),
        };
        tools::warn(py, &rendered)
    }
}
