//! The part of a script's response beyond its text.

use quillet_core::Diagnostic;
use quillet_core::constraint::EnforcedConstraint;
use quillet_prompt::StoredScriptOutcome;
use serde::Serialize;
use utoipa::ToSchema;

/// The result of a script in addition to its text.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct ScriptReport {
    /// The result: any JSON value.
    #[schema(value_type = Object)]
    result: serde_json::Value,
    /// Printed lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    printed: Vec<String>,
    /// Number of model calls.
    model_calls: u64,
    /// How the output formats were enforced, in order.
    #[schema(value_type = Vec<Object>)]
    enforced: Vec<EnforcedConstraint>,
    /// Warnings for the author of the script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    warnings: Vec<Diagnostic>,
}

impl ScriptReport {
    pub(super) fn new(outcome: StoredScriptOutcome, printed: Vec<String>) -> Self {
        ScriptReport {
            result: (&outcome.value).into(),
            printed,
            model_calls: outcome.model_calls,
            enforced: outcome.enforced,
            warnings: outcome.warnings,
        }
    }
}
