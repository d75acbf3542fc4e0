//! A render whose calls an event loop of Python makes.

use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use quillet::{Rendered, Step};

use crate::template::{Segment, messages, segments};
use crate::tools;
use quillet_python_values::value;

/// A render on its way: `_template.py` drives it.
#[pyclass(frozen, module = "quillet_engine._engine")]
pub(crate) struct Rendering(Mutex<Way>);

struct Way {
    rendering: quillet::Rendering,
    rendered: Option<Rendered>,
}

/// A call that is waited for: its number, the function, its arguments by position and by name.
type Call<'py> = (usize, String, Bound<'py, PyTuple>, Bound<'py, PyDict>);

impl Rendering {
    pub(crate) fn new(rendering: quillet::Rendering) -> Self {
        Rendering(Mutex::new(Way {
            rendering,
            rendered: None,
        }))
    }

    /// Never waited for: whoever holds it may be waiting for the lock of the interpreter.
    fn way(&self) -> PyResult<MutexGuard<'_, Way>> {
        let busy = "another thread is at this render";
        self.0.try_lock().map_err(|_| PyRuntimeError::new_err(busy))
    }

    fn with_rendered<T>(&self, take: impl FnOnce(&Rendered) -> PyResult<T>) -> PyResult<T> {
        match &self.way()?.rendered {
            Some(rendered) => take(rendered),
            None => Err(PyRuntimeError::new_err("the render has not ended")),
        }
    }
}

#[pymethods]
impl Rendering {
    /// The calls that are newly waited for; `None` when the render has ended.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Call<'py>>>> {
        let mut way = self.way()?;
        match tools::step(py, &mut way.rendering)? {
            Step::Done(rendered) => {
                way.rendered = Some(rendered);
                Ok(None)
            }
            Step::Waiting(calls) => {
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
    fn segments(&self) -> PyResult<Vec<Segment>> {
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
