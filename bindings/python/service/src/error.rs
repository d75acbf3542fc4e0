//! Errors as exceptions of `quillet_engine`.

use pyo3::prelude::*;
use quillet_bindings::{BindingError, ExceptionKind};
use quillet_python_values::error::ExceptionFields;

/// Converts an error to an exception.
pub(crate) fn raised(py: Python<'_>, refusal: &BindingError) -> PyErr {
    ExceptionFields {
        class: match refusal.kind {
            ExceptionKind::NotFound => "TemplateNotFound",
            ExceptionKind::Syntax => "TemplateSyntaxError",
            ExceptionKind::Undefined => "UndefinedError",
            ExceptionKind::Variable => "VariableError",
            ExceptionKind::Limit => "LimitError",
            ExceptionKind::Render => "RenderError",
            ExceptionKind::Option => "OptionError",
            ExceptionKind::Store => "StoreError",
            ExceptionKind::Script => "ScriptError",
            ExceptionKind::Query => "QueryError",
            ExceptionKind::Other => "QuilletError",
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
