//! Inspection of texts without rendering.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quillet::template::convert::ConvertOptions;
use quillet_core::Span;
use quillet_yaml::{Duplicates, Options, Tags};

use crate::options;
use quillet_python_values::error::{self, ExceptionFields};
use quillet_python_values::object;

/// Reader options for front matter.
const YAML: Options = Options {
    code: "file.yaml",
    most_nodes: 100_000,
    most_depth: 100,
    most_bytes: 8 << 20,
    tags: Tags::Keep,
    duplicates: Duplicates::Refuse,
};

/// Diagnostics of a template, as a list of dicts; empty if it is valid.
#[pyfunction]
#[pyo3(signature = (text, format = "jinja", **options))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    text: &str,
    format: &str,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let options = options::read(py, options)?.template;
    let found = py.detach(|| quillet::check(format, text, &options));
    error::diagnostics(py, &found)
}

/// Converts a template to another format, with notes about parts that are exact only for some
/// values.
#[pyfunction]
#[pyo3(signature = (text, source, target, *, assume_text = false, strict = false))]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    text: &str,
    source: &str,
    target: &str,
    assume_text: bool,
    strict: bool,
) -> PyResult<(String, Bound<'py, PyList>)> {
    let options = ConvertOptions {
        assume_text,
        strict,
        ..ConvertOptions::default()
    };
    let converted = py.detach(|| quillet::convert(text, source, target, &options));
    let converted = converted.map_err(|error| error::of_template(py, &error))?;
    let notes = error::diagnostics(py, &converted.notes)?;
    Ok((converted.text, notes))
}

/// The formats, as a dict of names to tuples of aliases.
#[pyfunction]
pub(crate) fn formats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let formats = PyDict::new(py);
    for format in quillet::formats() {
        let aliases = pyo3::types::PyTuple::new(py, format.aliases)?;
        formats.set_item(format.name, aliases)?;
    }
    Ok(formats)
}

/// Reads a YAML document as Python values.
#[pyfunction]
pub(crate) fn parse_yaml<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let (node, findings) = quillet_yaml::parse(name, text, whole, &YAML);
    let Some(found) = findings.first() else {
        let value = node.map(|node| node.value()).unwrap_or_default();
        return object::object(py, &value);
    };
    Err(ExceptionFields {
        class: "FileError",
        code: found.code,
        message: &found.to_string(),
        source: &found.source,
        position: found.position,
        hint: found.help.as_deref(),
        diagnostics: &findings,
    }
    .raise(py))
}
