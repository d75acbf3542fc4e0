//! Errors of the service as exceptions of `quillet_engine`.

use pyo3::prelude::*;
use quillet::Error;
use quillet::prompt::ServiceError;
use quillet_core::Diagnostic;
use quillet_python_values::error::Said;

/// The exception of what a service could not do.
pub(crate) fn of_service(py: Python<'_>, error: &Error) -> PyErr {
    let (class, code) = match error {
        Error::Service(error) => of_prompt(error),
        Error::Script(error) => ("RenderError", error.kind.code().as_str()),
        Error::Missing(_) | Error::Setting(_) => ("OptionError", "option.value"),
        _ => ("QuilletError", "error"),
    };
    let diagnostics = diagnostics(error);
    let first = diagnostics.first();
    Said {
        class,
        code,
        message: &error.to_string(),
        source: first.map_or("", |found| &found.source),
        position: first.and_then(|found| found.position),
        hint: first.and_then(|found| found.help.as_deref()),
        diagnostics: &diagnostics,
    }
    .raise(py)
}

fn of_prompt(error: &ServiceError) -> (&'static str, &'static str) {
    let class = match error {
        ServiceError::NotFound { .. } => "TemplateNotFound",
        ServiceError::Invalid { .. } => "TemplateSyntaxError",
        ServiceError::Variables { .. } => "VariableError",
        ServiceError::Missing { .. } => "UndefinedError",
        _ => "RenderError",
    };
    (class, error.code().as_str())
}

fn diagnostics(error: &Error) -> Vec<Diagnostic> {
    match error {
        Error::Script(error) => error.diagnostics.clone(),
        Error::Service(error) => match &**error {
            ServiceError::Invalid { diagnostics, .. } => diagnostics.clone(),
            ServiceError::Missing { places, .. } => places.clone(),
            _ => Vec::new(),
        },
        Error::Findings(found) => {
            let found = found.iter().map(|finding| finding.diagnostic.clone());
            found.collect()
        }
        _ => Vec::new(),
    }
}
