//! The template class.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use quillet::template::RenderLimits;
use quillet::{RenderedTemplate, TemplateError};
use quillet_core::Map;

use crate::rendering::PyRendering;
use crate::{interrupt, options, tools};
use quillet_python_values::memory::Memory;
use quillet_python_values::{error, object, value};

/// Number of rows that `render_batch` renders without a pause.
const BATCH: usize = 1024;

/// A compiled template. `quillet_engine.Template` extends this class in Python.
#[pyclass(name = "Template", subclass, frozen, module = "quillet_engine._engine")]
pub(crate) struct PyTemplate {
    inner: quillet::Template,
    with_tools: RenderLimits,
    /// Cache of the last variables.
    memory: Memory,
    /// The constructor arguments, to recreate the template in another process.
    text: Py<PyString>,
    format: Py<PyString>,
    options: Option<Py<PyDict>>,
}

/// Reads the variables and functions of a render.
struct RenderInput<'py> {
    variables: Map,
    tools: Option<Bound<'py, PyDict>>,
}

#[pymethods]
impl PyTemplate {
    #[new]
    #[pyo3(signature = (text, format = None, **options))]
    fn new(
        text: Bound<'_, PyString>,
        format: Option<Bound<'_, PyString>>,
        options: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = text.py();
        let format = format.unwrap_or_else(|| PyString::intern(py, "jinja"));
        let read = options::read(py, options.as_ref())?;
        let source = value::text(&text).map_err(|error| error.raise(py, "the template"))?;
        let (name, template) = (format.to_str()?, &read.template);
        let inner = py.detach(|| quillet::Template::compile(name, &source, template));
        Ok(PyTemplate {
            inner: inner.map_err(|error| error::of_template(py, &error))?,
            with_tools: read.with_tools,
            memory: Memory::default(),
            text: text.unbind(),
            format: format.clone().unbind(),
            options: options.map(Bound::unbind),
        })
    }

    /// Names of the variables that the template can read, in order of first use.
    #[getter]
    fn variables(&self) -> Vec<&str> {
        self.inner.variables()
    }

    /// Paths of the variables that the template can read, such as `user.name`.
    #[getter]
    fn paths(&self) -> Vec<String> {
        let variables = self.inner.references().variables.iter();
        variables.map(|variable| variable.path.join(".")).collect()
    }

    /// Names of the external functions that the template can call.
    #[getter]
    fn functions(&self) -> Vec<&str> {
        self.inner.functions()
    }

    /// Whether the template can access variables or partials by names computed during rendering.
    #[getter]
    fn dynamic(&self) -> bool {
        self.inner.references().dynamic
    }

    /// Names of partials that the template includes but that are missing.
    #[getter]
    fn missing_partials(&self) -> Vec<&str> {
        let missing = self.inner.references().templates.iter();
        missing.map(String::as_str).collect()
    }

    /// The template's name in errors.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// The template's text.
    #[getter]
    fn text(&self, py: Python<'_>) -> Py<PyString> {
        self.text.clone_ref(py)
    }

    /// The template's format, as passed.
    #[getter]
    fn format(&self, py: Python<'_>) -> Py<PyString> {
        self.format.clone_ref(py)
    }

    #[pyo3(signature = (variables = None, /, **named))]
    fn render<'py>(
        &self,
        py: Python<'py>,
        variables: Option<Bound<'py, PyAny>>,
        named: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let given = RenderInput::read(py, variables, named, &self.memory)?;
        if given.tools.is_none() {
            let text = py.detach(|| self.inner.render(given.variables));
            let text = text.map_err(|error| raised(py, &error))?;
            return Ok(PyString::new(py, &text));
        }
        Ok(PyString::new(
            py,
            &self.rendered(py, given, false)?.into_text(),
        ))
    }

    #[pyo3(signature = (variables = None, /, **named))]
    fn messages<'py>(
        &self,
        py: Python<'py>,
        variables: Option<Bound<'py, PyAny>>,
        named: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let given = RenderInput::read(py, variables, named, &self.memory)?;
        messages(py, &self.rendered(py, given, false)?)
    }

    #[pyo3(signature = (variables = None, /, **named))]
    fn segments<'py>(
        &self,
        py: Python<'py>,
        variables: Option<Bound<'py, PyAny>>,
        named: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Vec<PySegment>> {
        let given = RenderInput::read(py, variables, named, &self.memory)?;
        Ok(segments(&self.rendered(py, given, true)?))
    }

    /// Renders many rows of variables. Returns the texts, and the errors of failed rows.
    fn render_batch<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let (texts, errors) = (PyList::empty(py), PyList::empty(py));
        let mut rows = rows.try_iter()?;
        loop {
            let mut batch = Vec::with_capacity(BATCH);
            for row in rows.by_ref().take(BATCH) {
                batch.push(value::variables(Some(&row?), None, None));
            }
            if batch.is_empty() {
                return Ok((texts, errors));
            }
            let rendered = py.detach(|| {
                let render =
                    |row: Result<Map, _>| row.map(|variables| self.inner.render(variables));
                batch.into_iter().map(render).collect::<Vec<_>>()
            });
            // Control-C ends the whole batch, not only the current row.
            if let Some(raised) = interrupt::taken() {
                return Err(raised);
            }
            py.check_signals()?;
            for row in rendered {
                let error = match row {
                    Ok(Ok(text)) => {
                        texts.append(PyString::new(py, &text))?;
                        errors.append(py.None())?;
                        continue;
                    }
                    Ok(Err(error)) => error::of_template(py, &error),
                    Err(unreadable) => unreadable.raise(py, ""),
                };
                texts.append(py.None())?;
                errors.append(error.into_value(py))?;
            }
        }
    }

    /// Starts a render whose calls Python makes.
    #[pyo3(signature = (variables, named, tools, noted = false))]
    fn _begin(
        &self,
        py: Python<'_>,
        variables: Option<Bound<'_, PyAny>>,
        named: Option<Bound<'_, PyDict>>,
        tools: &Bound<'_, PyDict>,
        noted: bool,
    ) -> PyResult<PyRendering> {
        let variables = value::variables(variables.as_ref(), named.as_ref(), Some(&self.memory));
        let variables = variables.map_err(|error| error.raise(py, ""))?;
        Ok(PyRendering::new(self.begin(variables, tools, noted)?))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.text.bind(py).to_string_lossy();
        let mut shown: String = text.chars().take(60).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        let format = self.format.bind(py).to_string_lossy();
        Ok(format!("<Template {format} {shown:?}>"))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, template) = (slf.py(), slf.get());
        let make = py.import("quillet_engine._template")?.getattr("_make")?;
        let options = template
            .options
            .as_ref()
            .map(|options| options.clone_ref(py));
        let made_of = (slf.get_type(), &template.text, &template.format, options);
        Ok((make, made_of).into_pyobject(py)?.into_any())
    }
}

impl PyTemplate {
    fn begin(
        &self,
        variables: Map,
        tools: &Bound<'_, PyDict>,
        noted: bool,
    ) -> PyResult<quillet::Rendering> {
        let functions = tools::described(tools)?;
        let mut template = self.inner.clone();
        if !functions.is_empty() {
            template = template.with_limits(self.with_tools);
        }
        Ok(if noted {
            template.begin_segments(variables, functions)
        } else {
            template.begin(variables, functions)
        })
    }

    fn rendered(
        &self,
        py: Python<'_>,
        given: RenderInput<'_>,
        noted: bool,
    ) -> PyResult<RenderedTemplate> {
        let tools = given.tools.unwrap_or_else(|| PyDict::new(py));
        let mut rendering = self.begin(given.variables, &tools, noted)?;
        let rendered = tools::run(py, &mut rendering, &tools)?;
        tools::warn(py, &rendered)?;
        Ok(rendered)
    }
}

impl<'py> RenderInput<'py> {
    fn read(
        py: Python<'py>,
        variables: Option<Bound<'py, PyAny>>,
        named: Option<Bound<'py, PyDict>>,
        memory: &Memory,
    ) -> PyResult<Self> {
        let mut tools = None;
        if let Some(named) = &named
            && let Some(given) = named.get_item(pyo3::intern!(py, "tools"))?
        {
            tools = tools::functions(&given);
            if tools.is_some() {
                named.del_item(pyo3::intern!(py, "tools"))?;
            }
        }
        let variables = value::variables(variables.as_ref(), named.as_ref(), Some(memory));
        Ok(RenderInput {
            variables: variables.map_err(|error| error.raise(py, ""))?,
            tools,
        })
    }
}

/// The exception of a render: from a signal handler, or its own error.
fn raised(py: Python<'_>, error: &TemplateError) -> PyErr {
    interrupt::taken().unwrap_or_else(|| error::of_template(py, error))
}

/// A segment: its kind, its text and its origin.
pub(crate) type PySegment = (&'static str, String, Option<String>);

/// The segments of a rendered text.
pub(crate) fn segments(rendered: &RenderedTemplate) -> Vec<PySegment> {
    let segments = rendered.segments().into_iter();
    segments
        .map(|segment| (segment.kind.name(), segment.text, segment.source))
        .collect()
}

/// The messages of a rendered text.
pub(crate) fn messages<'py>(
    py: Python<'py>,
    rendered: &RenderedTemplate,
) -> PyResult<Bound<'py, PyList>> {
    let messages = rendered.messages();
    let messages = messages.map_err(|error| error::of_template(py, &error))?;
    object::messages(py, &messages)
}
