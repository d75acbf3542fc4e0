//! Python functions that templates call.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyString, PyTuple};
use quillet::{FunctionCall, RenderStep, RenderedTemplate, Rendering, TemplateFunction};

use quillet_python_values::{error, object, value};

/// The functions of a render: a dict whose values are all callable. Any other value named `tools`
/// is a variable, because chat templates use that name.
pub(crate) fn functions<'py>(tools: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    let tools = tools.cast::<PyDict>().ok()?;
    let is_function = |(name, tool): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        name.extract::<&str>().is_ok() && tool.is_callable()
    };
    (!tools.is_empty() && tools.iter().all(is_function)).then(|| tools.clone())
}

/// Description of the functions for a render.
pub(crate) fn described(tools: &Bound<'_, PyDict>) -> PyResult<Vec<TemplateFunction>> {
    let described = tools.iter().map(|(name, tool)| {
        Ok(TemplateFunction {
            parameters: parameters(&tool),
            ..TemplateFunction::from(name.extract::<&str>()?)
        })
    });
    described.collect()
}

/// The parameter names of a function: from its code object, which is fast, or else from `inspect`.
fn parameters(tool: &Bound<'_, PyAny>) -> Option<Vec<String>> {
    let py = tool.py();
    let is_decorated = || {
        let marks = [intern!(py, "__wrapped__"), intern!(py, "__signature__")];
        marks
            .into_iter()
            .any(|mark| tool.hasattr(mark).unwrap_or(true))
    };
    if let Ok(code) = tool.getattr(intern!(py, "__code__"))
        && !is_decorated()
    {
        let count = |name: &Bound<'_, PyString>| code.getattr(name)?.extract::<usize>();
        let named = count(intern!(py, "co_argcount")).ok()?;
        let only_named = count(intern!(py, "co_kwonlyargcount")).ok()?;
        let names = code.getattr(intern!(py, "co_varnames")).ok()?;
        let mut names: Vec<String> = names.extract().ok()?;
        names.truncate(named + only_named);
        // The object that a method is bound to is not a parameter.
        let is_method = tool.hasattr(intern!(py, "__self__")).unwrap_or(false);
        names.drain(..usize::from(is_method && !names.is_empty()));
        return Some(names);
    }
    // Functions written in C rarely name their parameters, and inspecting them is slow.
    if tool.is_instance_of::<PyCFunction>()
        || tool
            .get_type()
            .name()
            .is_ok_and(|name| name == "method_descriptor")
    {
        return None;
    }
    let inspect = py.import("inspect").ok()?;
    let signature = inspect.call_method1("signature", (tool,)).ok()?;
    let parameters = signature.getattr("parameters").ok()?;
    let names = parameters.call_method0("keys").ok()?.try_iter().ok()?;
    names.map(|name| name.ok()?.extract().ok()).collect()
}

/// Renders to the end and makes each call when the render needs it.
///
/// # Errors
/// Errors of the template, and exceptions of functions that are not a
/// [`PyException`](pyo3::exceptions::PyException): `KeyboardInterrupt`, `SystemExit`.
pub(crate) fn run(
    py: Python<'_>,
    rendering: &mut Rendering,
    tools: &Bound<'_, PyDict>,
) -> PyResult<RenderedTemplate> {
    loop {
        match step(py, rendering)? {
            RenderStep::Done(rendered) => return Ok(rendered),
            RenderStep::Waiting(calls) => {
                for call in calls {
                    let answer = answer(&call, tools)?;
                    rendering.answer(call.id, answer);
                }
            }
        }
    }
}

/// Runs one step of a render without the interpreter lock.
pub(crate) fn step(py: Python<'_>, rendering: &mut Rendering) -> PyResult<RenderStep> {
    let step = py.detach(|| rendering.step());
    step.map_err(|error| {
        crate::interrupt::taken().unwrap_or_else(|| error::of_template(py, &error))
    })
}

/// Calls a function.
fn answer(
    call: &FunctionCall,
    tools: &Bound<'_, PyDict>,
) -> PyResult<Result<quillet_core::Value, String>> {
    let py = tools.py();
    let Some(tool) = tools.get_item(&call.function)? else {
        return Ok(Err("the function no longer exists".to_owned()));
    };
    let (arguments, named) = arguments(py, call)?;
    let given = match tool.call(arguments, Some(&named)) {
        Ok(given) => given,
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyException>(py) => {
            return Ok(Err(said(py, &error)));
        }
        Err(error) => return Err(error),
    };
    if given.hasattr("__await__")? {
        // Close the coroutine, or the interpreter warns that it was never awaited.
        let _ = given.call_method0("close");
        let why = "it is asynchronous: call `await template.render_async(…)`";
        return Ok(Err(why.to_owned()));
    }
    Ok(value::read(&given).map_err(|error| error.message("its result")))
}

/// The arguments of a call as Python values.
pub(crate) fn arguments<'py>(
    py: Python<'py>,
    call: &FunctionCall,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
    let positional = object::tuple(py, &call.arguments.positional)?;
    Ok((positional, object::dict(py, &call.arguments.named)?))
}

/// Formats an exception in one line: `ValueError: no such city`.
fn said(py: Python<'_>, error: &PyErr) -> String {
    let name = error.get_type(py).name();
    let name = name.map_or_else(|_| "Exception".to_owned(), |name| name.to_string());
    match error.value(py).str() {
        Ok(text) if text.is_empty().unwrap_or(true) => name,
        Ok(text) => format!("{name}: {}", text.to_string_lossy()),
        Err(_) => name,
    }
}

/// Warns about failed calls.
///
/// # Errors
/// The program turns warnings into errors.
pub(crate) fn warn(py: Python<'_>, rendered: &RenderedTemplate) -> PyResult<()> {
    for failed in rendered.failed_calls() {
        let message = format!(
            "the call of {} failed, and it is rendered as empty text: {}",
            failed.function, failed.message
        );
        let class = error::class(py, "ToolWarning")?;
        let warn = py.import("warnings")?.getattr("warn")?;
        warn.call1((message, class, 1))?;
    }
    Ok(())
}
