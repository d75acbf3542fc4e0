//! Scripts, `.ai.yaml`.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use quillet_bindings::{Abilities, HostFunction, ScriptRequest, ScriptSource, run};
use quillet_core::{Map, Value};
use quillet_python_values::error::of_option;
use quillet_python_values::value;

use crate::error::raised;
use crate::functions::described;
use crate::work::PyTask;

/// Starts a script. `_script.py` documents the options.
#[pyfunction]
pub(crate) fn begin_run(
    py: Python<'_>,
    path: Option<String>,
    text: Option<String>,
    inputs: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<PyTask> {
    let script = match (path, text) {
        (Some(path), None) => ScriptSource::Path(path),
        (_, text) => ScriptSource::Itself(text.unwrap_or_default()),
    };
    let mut wanted = ScriptRequest::new(script);
    let inputs = value::read(inputs).map_err(|error| error.raise(py, "inputs"))?;
    wanted.inputs = Some(inputs).filter(|inputs| *inputs != Value::Null);
    for (key, option) in options {
        let key: String = key.extract()?;
        set(&mut wanted, &key, &option)?;
    }
    PyTask::begin(|board| run(wanted, board))
}

fn set(wanted: &mut ScriptRequest, key: &str, option: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = option.py();
    match key {
        "tools" => wanted.tools = tools(option)?,
        "parameters" => wanted.parameters = parameters(option)?,
        "abilities" => {
            let named = Abilities::named(&option.extract::<Vec<String>>()?);
            wanted.abilities = named.map_err(|refusal| raised(py, &refusal))?;
        }
        "search" => wanted.search = option.extract()?,
        "seed" => wanted.seed = option.extract()?,
        "timeout" => wanted.time = seconds(option)?,
        "allow_read" => wanted.grants.read = option.extract::<Vec<PathBuf>>()?,
        "allow_write" => wanted.grants.write = option.extract::<Vec<PathBuf>>()?,
        "allow_net" => wanted.grants.net = option.extract()?,
        "allow_run" => wanted.grants.run = option.extract()?,
        "allow_env" => wanted.grants.env = option.extract()?,
        "watched" => wanted.is_watched = option.extract()?,
        "limits" => {
            for (name, most) in option.cast::<PyDict>()? {
                let limited = wanted.limit(&name.extract::<String>()?, most.extract()?);
                limited.map_err(|refusal| raised(py, &refusal))?;
            }
        }
        other => return Err(of_option(py, &format!("unknown option {other:?}"), "")),
    }
    Ok(())
}

fn tools(option: &Bound<'_, PyAny>) -> PyResult<Vec<HostFunction>> {
    described(option.extract()?)
}

fn parameters(option: &Bound<'_, PyAny>) -> PyResult<Map> {
    let read = value::variables(Some(option), None, None);
    read.map_err(|error| error.raise(option.py(), "parameters"))
}

/// A timeout in seconds; a value above the range of the clock means no timeout.
pub(crate) fn seconds(option: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    let Some(seconds) = option.extract::<Option<f64>>()? else {
        return Ok(None);
    };
    if seconds.is_nan() || seconds <= 0.0 {
        let message = format!("invalid timeout: {seconds}");
        return Err(of_option(
            option.py(),
            &message,
            "give seconds, more than 0",
        ));
    }
    Ok(Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| *time < LONGEST))
}

/// Equivalent to no limit.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);
