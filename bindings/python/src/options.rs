//! The options of a template by name.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use quillet::TemplateOptions;
use quillet::template::{CompileOptions, MessageSyntax, Missing, RenderLimits};

use crate::interrupt;
use quillet_python_values::error::of_option;

/// Default timeout of a render with tools: tools are slower than templates.
const WITH_TOOLS: Duration = Duration::from_secs(30);
/// Larger values mean no limit, so the clock cannot overflow.
const LONGEST: f64 = 1e9;

/// Arguments of the template constructor.
pub(crate) struct Options {
    pub(crate) template: TemplateOptions,
    /// The limits of renders with tools.
    pub(crate) with_tools: RenderLimits,
}

/// Reads options; missing options have their defaults.
pub(crate) fn read(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = TemplateOptions {
        interrupt: Some(interrupt::asked),
        ..TemplateOptions::default()
    };
    let mut seconds = None;
    for (key, value) in given.into_iter().flatten() {
        if value.is_none() {
            continue;
        }
        let key: String = key.extract()?;
        match key.as_str() {
            "name" => options.name = value.extract()?,
            "partials" => {
                for (name, text) in value.cast::<PyDict>()? {
                    options.partials.push((name.extract()?, text.extract()?));
                }
            }
            "missing" => options.compile.missing = missing(py, &value.extract::<String>()?)?,
            "messages" => options.compile.messages = syntax(py, &value.extract::<String>()?)?,
            "filters" => options.compile.filters = value.extract()?,
            "trusted" => options.compile.trusted = value.extract()?,
            "timeout" => seconds = Some(value.extract::<f64>()?),
            "limits" => limits(py, value.cast::<PyDict>()?, &mut options)?,
            other => {
                let message = format!("unknown option {other:?}");
                let hint = "options are name, partials, missing, messages, filters, trusted, \
                    timeout, limits";
                return Err(of_option(py, &message, hint));
            }
        }
    }
    let mut with_tools = options.limits;
    with_tools.time = WITH_TOOLS;
    if let Some(seconds) = seconds {
        if seconds.is_nan() || seconds <= 0.0 {
            return Err(of_option(
                py,
                &format!("invalid timeout: {seconds}"),
                "give seconds, more than 0",
            ));
        }
        let time = Duration::from_secs_f64(seconds.min(LONGEST));
        options.limits.time = time;
        with_tools.time = time;
    }
    Ok(Options {
        template: options,
        with_tools,
    })
}

fn missing(py: Python<'_>, name: &str) -> PyResult<Missing> {
    Ok(match name {
        "default" => Missing::Default,
        "strict" => Missing::Strict,
        "zero" => Missing::Zero,
        "empty" => Missing::Empty,
        other => {
            let message = format!("invalid value of missing: {other:?}");
            let hint = "give \"default\", \"strict\", \"zero\" or \"empty\"";
            return Err(of_option(py, &message, hint));
        }
    })
}

fn syntax(py: Python<'_>, name: &str) -> PyResult<MessageSyntax> {
    Ok(match name {
        "plain" => MessageSyntax::Plain,
        "elements" => MessageSyntax::Elements,
        "role-lines" => MessageSyntax::RoleLines,
        other => {
            let message = format!("invalid value of messages: {other:?}");
            let hint = "give \"plain\", \"role-lines\" or \"elements\"";
            return Err(of_option(py, &message, hint));
        }
    })
}

fn limits(
    py: Python<'_>,
    given: &Bound<'_, PyDict>,
    options: &mut TemplateOptions,
) -> PyResult<()> {
    let CompileOptions {
        limits: compile, ..
    } = &mut options.compile;
    let render = &mut options.limits;
    for (key, value) in given {
        let (key, value): (String, usize) = (key.extract()?, value.extract()?);
        let field = match key.as_str() {
            "source_bytes" => &mut compile.source_bytes,
            "output_bytes" => &mut render.output_bytes,
            "memory_bytes" => &mut render.memory_bytes,
            "steps" => &mut render.steps,
            "nesting" => &mut render.nesting,
            "passes" => &mut render.passes,
            "calls" => &mut render.calls,
            "concurrency" => &mut render.concurrency,
            other => {
                let message = format!("unknown limit {other:?}");
                let hint = "limits are source_bytes, output_bytes, memory_bytes, steps, nesting, \
                    passes, calls, concurrency; for time use timeout";
                return Err(of_option(py, &message, hint));
            }
        };
        *field = value;
    }
    Ok(())
}
