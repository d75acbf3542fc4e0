//! Errors as exceptions of `quillet_engine`.

use pyo3::prelude::*;
use quillet_bindings::{Kind, Refusal};
use quillet_python_values::error::Said;

/// The exception of what was not done.
pub(crate) fn raised(py: Python<'_>, refusal: &Refusal) -> PyErr {
    Said {
        class: match refusal.kind {
            Kind::NotFound => "TemplateNotFound",
            Kind::Syntax => "TemplateSyntaxError",
            Kind::Undefined => "UndefinedError",
            Kind::Variable => "VariableError",
            Kind::Limit => "LimitError",
            Kind::Render => "RenderError",
            Kind::Option => "OptionError",
            Kind::Store => "StoreError",
            Kind::Script => "ScriptError",
            Kind::Query => "QueryError",
            Kind::Other => "QuilletError",
        },
        code: refusal.code,
        message: &refusal.message,
        source: &refusal.source,
        position: refusal.position,
        hint: refusal.hint.as_deref(),
        diagnostics: &refusal.diagnostics,
    }
    .raise(py)
}
