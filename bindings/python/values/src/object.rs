//! Converts values to Python.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use quillet_core::{Map, Message, MessageContent, Value};

/// Converts a value to Python.
pub fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value.represented_value() {
        Value::Null => py.None().into_bound(py),
        Value::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Str(text) => PyString::new(py, text).into_any(),
        Value::List(list) => {
            let objects = PyList::empty(py);
            for item in list.as_slice() {
                objects.append(object(py, item)?)?;
            }
            objects.into_any()
        }
        Value::Map(map) => dict(py, map)?.into_any(),
    })
}

/// Converts an object to a dict.
pub fn dict<'py>(py: Python<'py>, map: &Map) -> PyResult<Bound<'py, PyDict>> {
    let objects = PyDict::new(py);
    for (key, value) in map {
        objects.set_item(&**key, object(py, value)?)?;
    }
    Ok(objects)
}

/// Positional arguments.
pub fn tuple<'py>(py: Python<'py>, values: &[Value]) -> PyResult<Bound<'py, PyTuple>> {
    let objects: PyResult<Vec<_>> = values.iter().map(|value| object(py, value)).collect();
    PyTuple::new(py, objects?)
}

/// Messages in OpenAI's format.
pub fn messages<'py>(py: Python<'py>, messages: &[Message]) -> PyResult<Bound<'py, PyList>> {
    let objects = PyList::empty(py);
    for message in messages {
        let one = PyDict::new(py);
        one.set_item("role", message.role.as_str())?;
        match &message.content {
            MessageContent::Text(text) => one.set_item("content", text)?,
            MessageContent::Parts(parts) => {
                let tree = serde_json::to_value(parts).unwrap_or_default();
                one.set_item("content", object(py, &Value::from(tree))?)?;
            }
        }
        objects.append(one)?;
    }
    Ok(objects)
}
