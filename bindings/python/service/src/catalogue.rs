//! Prompts of a store.

use std::mem;
use std::sync::Mutex;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quillet_bindings::{
    BindingError, CallQueue, ExceptionKind, PromptVersion, RenderRequest, runtime,
};
use quillet_core::Value;
use quillet_core::lock::lock;
use quillet_python_values::{error, object, value};

use crate::error::raised;
use crate::functions::described;
use crate::runtime::wait;
use crate::script::seconds;
use crate::work::{PyTask, TaskResult};

/// Default timeout of a render; longer than for templates alone, because tools are slower.
const USUAL: Duration = Duration::from_secs(30);

/// The prompts of a store, kept up to date. `quillet_engine_service.Catalogue` extends this class
/// in Python.
#[pyclass(
    name = "Catalogue",
    subclass,
    frozen,
    module = "quillet_engine_service._service"
)]
pub(crate) struct PyCatalogue {
    store: String,
    time: Duration,
    /// Locked only while the interpreter lock is held, so the process cannot fork meanwhile.
    held: Mutex<OpenCatalogue>,
}

/// The open store, and the id of the process that opened it.
struct OpenCatalogue {
    process: u32,
    open: Option<quillet_bindings::BoundCatalogue>,
}

#[pymethods]
impl PyCatalogue {
    #[new]
    #[pyo3(signature = (store, *, timeout = None))]
    fn new(py: Python<'_>, store: String, timeout: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let time = timeout.map(|timeout| seconds(&timeout)).transpose()?;
        let time = time.flatten().unwrap_or(USUAL);
        if store.is_empty() {
            // The settings treat an empty address as unset, which would select a store in memory.
            let hint = "give dir:PATH, sqlite:FILE, redis://HOST or memory:";
            return Err(raised(
                py,
                &BindingError::option("the store is empty", hint),
            ));
        }
        let open = wait(py, quillet_bindings::BoundCatalogue::open(&store, time))?;
        Ok(PyCatalogue {
            store,
            time,
            held: Mutex::new(OpenCatalogue {
                process: std::process::id(),
                open: Some(open),
            }),
        })
    }

    /// The address the store was opened with.
    #[getter]
    fn store(&self) -> &str {
        &self.store
    }

    /// Sorted ids of all prompts, including invalid ones.
    fn ids(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.open(py)?.ids())
    }

    /// Diagnostics of all prompts in the store.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        error::diagnostics(py, &self.open(py)?.findings())
    }

    /// Renders without functions.
    fn rendered<'py>(
        &self,
        py: Python<'py>,
        id: String,
        variables: Option<Bound<'py, PyAny>>,
        named: Option<Bound<'py, PyDict>>,
        which: Option<Bound<'py, PyAny>>,
        as_messages: bool,
    ) -> PyResult<TaskResult<'py>> {
        let request = request(py, id, variables, named, which, as_messages)?;
        let open = self.open(py)?;
        let board = CallQueue::default();
        let done = wait(py, async { open.render(request, &board).await })?;
        let value = object::object(py, &done.value.unwrap_or_default())?;
        Ok((value, done.failures))
    }

    /// Starts a render whose functions Python calls.
    #[expect(clippy::too_many_arguments, reason = "those of one render")]
    fn begin_render(
        &self,
        py: Python<'_>,
        id: String,
        variables: Option<Bound<'_, PyAny>>,
        named: Option<Bound<'_, PyDict>>,
        which: Option<Bound<'_, PyAny>>,
        as_messages: bool,
        tools: Vec<Bound<'_, PyDict>>,
    ) -> PyResult<PyTask> {
        let mut request = request(py, id, variables, named, which, as_messages)?;
        request.tools = described(tools)?;
        let open = self.open(py)?;
        PyTask::begin(|board| async move { open.render(request, &board).await })
    }

    /// Waits until the catalogue has seen all earlier writes to the store.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open(py)?;
        wait(py, async { open.sync().await })
    }

    /// Labels of a prompt.
    fn labels<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let open = self.open(py)?;
        let labels = wait(py, async { open.labels(id).await })?;
        object::object(py, &labels)
    }

    /// Versions of a prompt, newest first.
    fn versions<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let open = self.open(py)?;
        let versions = wait(py, async { open.versions(id).await })?;
        object::object(py, &versions)
    }

    /// Writes a prompt and returns its version number.
    fn write(
        &self,
        py: Python<'_>,
        id: &str,
        definition: &Bound<'_, PyDict>,
        labels: Vec<String>,
        author: Option<&str>,
        message: &str,
    ) -> PyResult<u64> {
        let read = value::variables(Some(definition.as_any()), None, None);
        let definition = read.map_err(|error| error.raise(py, "the prompt"))?;
        let open = self.open(py)?;
        let written = open.put(id, definition, &labels, author, message);
        wait(py, written)
    }

    /// Moves a label to a version, or removes it with `None`. Returns all labels.
    fn label<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        label: &str,
        version: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let open = self.open(py)?;
        let labels = wait(py, async { open.label(id, label, version).await })?;
        object::object(py, &labels)
    }

    /// Removes a prompt and its labels, but keeps its versions.
    fn remove(&self, py: Python<'_>, id: &str) -> PyResult<()> {
        let open = self.open(py)?;
        wait(py, async { open.remove(id).await })
    }

    /// Stops following the store. All later requests fail.
    fn close(&self, py: Python<'_>) {
        let closed = OpenCatalogue {
            process: std::process::id(),
            open: None,
        };
        let before = {
            let mut held = lock(&self.held);
            mem::replace(&mut *held, closed)
        };
        py.detach(|| drop(before));
    }

    fn __repr__(&self) -> String {
        format!("<Catalogue {:?}>", shown(&self.store))
    }
}

impl PyCatalogue {
    /// Returns the open store. A forked process opens it again, because it cannot share its
    /// parent's connections, files and threads.
    fn open(&self, py: Python<'_>) -> PyResult<quillet_bindings::BoundCatalogue> {
        let (is_ours, open) = {
            let held = lock(&self.held);
            (held.process == std::process::id(), held.open.clone())
        };
        let closed = || {
            BindingError::new(
                ExceptionKind::Option,
                "option.value",
                "the catalogue is closed",
            )
        };
        match open {
            None => Err(raised(py, &closed())),
            Some(open) if is_ours => Ok(open),
            Some(parents) => {
                // A forked process must not drop the parent's catalogue, because its threads do not
                // exist here.
                mem::forget(parents);
                self.open_again(py)
            }
        }
    }

    fn open_again(&self, py: Python<'_>) -> PyResult<quillet_bindings::BoundCatalogue> {
        if self.store.starts_with("memory:") || self.store.starts_with("sqlite::memory:") {
            let message = "an in-memory store belongs to the process that opened it";
            let hint = "open it again after the fork, or use a folder, SQLite or Redis";
            return Err(raised(py, &BindingError::option(message, hint)));
        }
        let open = wait(
            py,
            quillet_bindings::BoundCatalogue::open(&self.store, self.time),
        )?;
        let held = OpenCatalogue {
            process: std::process::id(),
            open: Some(open.clone()),
        };
        let mut kept = lock(&self.held);
        *kept = held;
        Ok(open)
    }
}

impl Drop for OpenCatalogue {
    fn drop(&mut self) {
        let open = self.open.take();
        if self.process != std::process::id() {
            // A forked process must not close connections that belong to the parent.
            mem::forget(open);
        } else if let Ok(runtime) = runtime::handle() {
            let _runtime = runtime.enter();
            drop(open);
        }
    }
}

fn request(
    py: Python<'_>,
    id: String,
    variables: Option<Bound<'_, PyAny>>,
    named: Option<Bound<'_, PyDict>>,
    which: Option<Bound<'_, PyAny>>,
    as_messages: bool,
) -> PyResult<RenderRequest> {
    let variables = value::variables(variables.as_ref(), named.as_ref(), None);
    let variables = variables.map_err(|error| error.raise(py, ""))?;
    let which = which.map(|which| value::read(&which)).transpose();
    let which = match which.map_err(|error| error.raise(py, "the version"))? {
        None => PromptVersion::Usual,
        Some(Value::Str(label)) => PromptVersion::Label(label.to_string()),
        Some(Value::Int(number)) if number > 0 => PromptVersion::Version(number.cast_unsigned()),
        Some(_) => {
            let message = "the version must be a number, at least 1, or the label a string";
            let refusal = BindingError::option(message, "give label=\"production\" or version=3");
            return Err(raised(py, &refusal));
        }
    };
    Ok(RenderRequest {
        id,
        which,
        variables,
        tools: Vec::new(),
        as_messages,
    })
}

/// Removes the password from an address.
fn shown(store: &str) -> String {
    let Some((scheme, rest)) = store.split_once("://") else {
        return store.to_owned();
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://…@{host}"),
        None => store.to_owned(),
    }
}
