//! Descriptions of Python functions that prompts and scripts may call.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use quillet_bindings::HostFunction;
use quillet_core::Value;
use quillet_python_values::value;

/// Reads a list of dicts with `name`, `description`, `parameters`.
pub(crate) fn described(tools: Vec<Bound<'_, PyDict>>) -> PyResult<Vec<HostFunction>> {
    tools.iter().map(one).collect()
}

fn one(tool: &Bound<'_, PyDict>) -> PyResult<HostFunction> {
    let py = tool.py();
    let text = |key: &str| -> PyResult<String> {
        let found = tool.get_item(key)?;
        found.map_or(Ok(String::new()), |text| text.extract())
    };
    let name = text("name")?;
    let parameters = match tool
        .get_item("parameters")?
        .filter(|found| !found.is_none())
    {
        None => None,
        Some(schema) => {
            let read = value::read(&schema);
            let place = format!("tools[{name:?}].parameters");
            let schema: Value = read.map_err(|error| error.raise(py, &place))?;
            Some((&schema).into())
        }
    };
    Ok(HostFunction {
        description: text("description")?,
        name,
        parameters,
        ..HostFunction::default()
    })
}
