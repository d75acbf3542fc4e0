//! Prompts of a store.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quillet::prompt::{Input, RenderOutcome, RenderedPrompt};
use quillet::{Error, Quillet, Settings};
use quillet_core::Map;
use quillet_python_values::{error::diagnostics, object, value};

use crate::error::of_service;
use crate::runtime::wait;

/// How renders are named in logs and traces.
const REQUEST: &str = "python";

/// The prompts of a store, which is followed: what others write there is seen.
#[pyclass(frozen, module = "quillet_engine_service._service")]
pub(crate) struct Catalogue {
    quillet: Quillet,
    store: String,
}

/// What a render is given by name besides variables.
struct Given {
    /// The id with its mark: `greet.hello@production`, `greet.hello@7`.
    id: String,
    variables: Map,
}

#[pymethods]
impl Catalogue {
    #[new]
    fn new(py: Python<'_>, store: String) -> PyResult<Self> {
        let url = store.clone();
        let opened = wait(py, async move {
            let mut settings = Settings::default();
            settings.set("store.url", &url)?;
            Quillet::with(settings).await
        })?;
        Ok(Catalogue {
            quillet: opened.map_err(|error| of_service(py, &error))?,
            store,
        })
    }

    /// Ids of all prompts, broken ones included, sorted.
    fn ids(&self) -> Vec<String> {
        let snapshot = self.quillet.host().prompts().catalogue().snapshot();
        let mut ids: Vec<String> = snapshot.prompts.keys().map(|id| id.to_string()).collect();
        ids.sort();
        ids
    }

    /// Everything that is wrong with the prompts of the store.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let snapshot = self.quillet.host().prompts().catalogue().snapshot();
        let found = snapshot
            .prompts
            .values()
            .flat_map(|prompt| prompt.diagnostics.clone());
        let found: Vec<_> = found.collect();
        diagnostics(py, &found)
    }

    /// The text of a prompt; of messages each with its role before it.
    #[pyo3(signature = (id, variables = None, /, *, label = None, version = None, **named))]
    fn render(
        &self,
        py: Python<'_>,
        id: &str,
        variables: Option<Bound<'_, PyAny>>,
        label: Option<&str>,
        version: Option<u64>,
        named: Option<Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let given = Given::read(py, id, (variables, named), (label, version))?;
        Ok(self.rendered(py, given)?.prompt.to_string())
    }

    /// The messages of a prompt in OpenAI's shape; a text is one message of the user.
    #[pyo3(signature = (id, variables = None, /, *, label = None, version = None, **named))]
    fn messages<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        variables: Option<Bound<'py, PyAny>>,
        label: Option<&str>,
        version: Option<u64>,
        named: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let given = Given::read(py, id, (variables, named), (label, version))?;
        let prompt: RenderedPrompt = self.rendered(py, given)?.prompt;
        object::messages(py, &self.quillet.host().prompts().messages(prompt))
    }

    /// Waits until what was written before to the store is seen here.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let synced = wait(py, async {
            let catalogue = self.quillet.host().prompts().catalogue();
            catalogue.sync().await.map_err(Error::from)
        })?;
        synced.map_err(|error| of_service(py, &error))
    }

    fn __repr__(&self) -> String {
        format!("<Catalogue {:?}>", self.store)
    }
}

impl Catalogue {
    fn rendered(&self, py: Python<'_>, given: Given) -> PyResult<RenderOutcome> {
        let rendered = wait(py, async move {
            let input = Input::new(&given.variables, REQUEST);
            let prompts = self.quillet.host().prompts();
            prompts.render(&given.id, &input).await.map_err(Error::from)
        })?;
        rendered.map_err(|error| of_service(py, &error))
    }
}

impl Given {
    fn read(
        py: Python<'_>,
        id: &str,
        (variables, named): (Option<Bound<'_, PyAny>>, Option<Bound<'_, PyDict>>),
        (label, version): (Option<&str>, Option<u64>),
    ) -> PyResult<Self> {
        let id = match (label, version) {
            (None, None) => id.to_owned(),
            (Some(label), None) => format!("{id}@{label}"),
            (None, Some(version)) => format!("{id}@{version}"),
            (Some(_), Some(_)) => {
                let message = "both a label and a version are given";
                return Err(quillet_python_values::error::of_option(
                    py,
                    message,
                    "give one of them",
                ));
            }
        };
        let variables = value::variables(variables.as_ref(), named.as_ref());
        let variables = variables.map_err(|error| error.raise(py, ""))?;
        Ok(Given { id, variables })
    }
}
