//! How the form of a model's answer was enforced.

use serde::Serialize;

/// A constraint on one answer, and how it was enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnforcedConstraint {
    /// The variable that receives the answer.
    pub variable: String,
    /// The requested form: `choice`, `schema`, `json`, `yaml`, `nobj`.
    pub constraint: &'static str,
    /// Who enforced it.
    pub by: EnforcedBy,
    /// Number of turns in which the model was asked to repair its answer.
    pub repairs: u32,
    /// Whether the answer has the form.
    pub kept: bool,
}

/// Who enforces the form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EnforcedBy {
    /// The provider, with its own structured output.
    Provider,
    /// The engine, with an instruction and a check.
    Check,
}
