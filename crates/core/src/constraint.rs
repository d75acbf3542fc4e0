//! Enforcement of constraints on model answers.

use serde::Serialize;

/// A constraint on one answer, and how it was enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnforcedConstraint {
    /// The variable that receives the answer.
    pub variable: String,
    /// The requested format: `choice`, `schema`, `json`, `yaml`, `nobj`.
    pub constraint: &'static str,
    /// The enforcing party.
    pub by: EnforcedBy,
    /// Number of turns in which the model repaired its answer.
    pub repairs: u32,
    /// Whether the answer satisfies the constraint.
    pub kept: bool,
}

/// The party that enforces a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EnforcedBy {
    /// The provider, with its structured output.
    Provider,
    /// The engine, with an instruction to the model and a check.
    Check,
}
