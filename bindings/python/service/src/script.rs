//! Scripts, `.ai.yaml`.

use std::sync::Arc;

use pyo3::prelude::*;
use quillet::Error;
use quillet::script::host::{Grants, Limits, NoTools, Reach, Unobserved};
use quillet::script::js::JsOptions;
use quillet::script::library;
use quillet::script::run::{Engine, Input, Job};
use quillet::template::TemplateFactory;
use quillet_core::{Map, Value};
use quillet_python_values::{object, value};

use crate::error::of_service;
use crate::model::Function;
use crate::runtime::wait;

/// The result of a script, with nothing granted: it asks the model, and touches no file, no process
/// and no network.
#[pyfunction]
#[pyo3(signature = (path, inputs = None, *, model, seed = None))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    path: String,
    inputs: Option<Bound<'py, PyAny>>,
    model: Py<PyAny>,
    seed: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let inputs = inputs.map(|inputs| value::read(&inputs)).transpose();
    let arguments = match inputs.map_err(|error| error.raise(py, "inputs"))? {
        None | Some(Value::Null) => Input::None,
        Some(Value::Map(named)) => Input::Named(named),
        Some(single) => Input::Single(single),
    };
    let done = wait(py, async move {
        let opened = library::open(&path, &[]).await?;
        let engine = Engine {
            models: Arc::new(Function::new(model)),
            tools: Arc::new(NoTools),
            library: opened.library,
            templates: Arc::new(TemplateFactory::standard()),
            limits: Limits::default(),
            javascript: JsOptions::default(),
        };
        let job = Job {
            script: opened.script,
            arguments,
            stream: false,
            parameters: Map::default(),
            history: Vec::new(),
            seed,
            reach: Reach::Granted(Grants::default()),
            observer: Arc::new(Unobserved),
        };
        Ok::<_, Error>(engine.run(job).await?)
    })?;
    let outcome = done.map_err(|error| of_service(py, &error))?;
    object::object(py, &outcome.value.unwrap_or_default())
}
