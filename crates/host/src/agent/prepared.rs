//! A run that can go.

use quillet_agent::{Citation, Permissions, RunSpec};
use quillet_core::Message;
use quillet_core::budget::BudgetLimits;

/// A run that can go, and what its session gets.
pub(super) struct PreparedRun {
    pub(super) run: RunSpec,
    pub(super) session: Option<String>,
    /// What was asked, as the session keeps it.
    pub(super) asked: Vec<Message>,
    /// Whether the session ends with this question already.
    pub(super) is_asked_again: bool,
    /// The provider.
    pub(super) provider: String,
    /// Where the documents are from that are in the question.
    pub(super) sources: Vec<Citation>,
    /// What whoever asks should know.
    pub(super) warnings: Vec<String>,
    /// Tools that are not called before a person has agreed.
    pub(super) ask: Permissions,
    /// The agent's own budgets, and its name.
    pub(super) budget: Option<(String, BudgetLimits)>,
}
