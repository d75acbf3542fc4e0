//! Converts errors to exceptions. The classes are defined in Python (`quillet_engine/_errors.py`),
//! with the usual bases and attributes.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyType};
use quillet::TemplateError;
use quillet_core::{Diagnostic, LineColumn, Severity};

static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Returns an exception class from the Python module `_errors`.
pub fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    let module = CLASSES.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("quillet_engine._errors")?.unbind())
    })?;
    Ok(module.bind(py).getattr(name)?.cast_into::<PyType>()?)
}

/// Fields of every exception.
#[derive(Debug)]
pub struct ExceptionFields<'a> {
    /// Name of the class in `_errors`.
    pub class: &'a str,
    /// Stable error code.
    pub code: &'a str,
    /// The problem and its location.
    pub message: &'a str,
    /// The source of the problem; empty if there is none.
    pub source: &'a str,
    /// The location in that source.
    pub position: Option<LineColumn>,
    /// Suggested fix.
    pub hint: Option<&'a str>,
    /// All diagnostics.
    pub diagnostics: &'a [Diagnostic],
}

impl ExceptionFields<'_> {
    /// Creates the exception, or returns the error that prevented its creation.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        match self.exception(py) {
            Ok(error) | Err(error) => error,
        }
    }

    fn exception(self, py: Python<'_>) -> PyResult<PyErr> {
        let fields = PyDict::new(py);
        fields.set_item("code", self.code)?;
        fields.set_item("line", self.position.map(|place| place.line))?;
        fields.set_item("column", self.position.map(|place| place.column))?;
        fields.set_item("hint", self.hint)?;
        fields.set_item("source", Some(self.source).filter(|name| !name.is_empty()))?;
        fields.set_item("diagnostics", diagnostics(py, self.diagnostics)?)?;
        let class = class(py, self.class)?;
        let error = class.call((self.message,), Some(&fields))?;
        Ok(PyErr::from_value(error))
    }
}

/// The exception for a template that cannot be rendered.
pub fn of_template(py: Python<'_>, error: &TemplateError) -> PyErr {
    let code = error.code();
    let class = match code {
        "render.missing_variable" => "UndefinedError",
        "render.limit" | "render.timeout" | "template.limit" => "LimitError",
        "template.missing" => "TemplateNotFound",
        _ if code.starts_with("convert.") => "ConvertError",
        _ if code.starts_with("render.") => "RenderError",
        _ => "TemplateSyntaxError",
    };
    let hint = match error.hint() {
        None if code == "render.unknown_function" => Some("pass it as a tool: tools={{name: f}}"),
        hint => hint,
    };
    let message = error.to_string();
    // Removes the hint from the end of a diagnostic, because the exception shows it separately.
    let message = match error.hint() {
        Some(hint) => message
            .strip_suffix(&format!(" ({hint})"))
            .unwrap_or(&message),
        None => &message,
    };
    ExceptionFields {
        class,
        code,
        message,
        source: error.source_name(),
        position: error.position(),
        hint,
        diagnostics: error.diagnostics(),
    }
    .raise(py)
}

/// Error for an invalid option.
pub fn of_option(py: Python<'_>, message: &str, hint: &str) -> PyErr {
    ExceptionFields {
        class: "OptionError",
        code: "option.value",
        message,
        source: "",
        position: None,
        hint: Some(hint),
        diagnostics: &[],
    }
    .raise(py)
}

/// Diagnostics as a list of dicts.
pub fn diagnostics<'py>(py: Python<'py>, found: &[Diagnostic]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for one in found {
        let entry = PyDict::new(py);
        entry.set_item("code", one.code)?;
        let severity = match one.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        entry.set_item("severity", severity)?;
        entry.set_item("message", &one.message)?;
        entry.set_item("source", &one.source)?;
        entry.set_item("line", one.position.map(|place| place.line))?;
        entry.set_item("column", one.position.map(|place| place.column))?;
        entry.set_item("hint", one.help.as_deref())?;
        list.append(entry)?;
    }
    Ok(list)
}
