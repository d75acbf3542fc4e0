//! Prepared runs.

use quillet_agent::{Citation, Permissions, RunSpec};
use quillet_core::Message;
use quillet_core::budget::BudgetLimits;

/// Prepared run with the messages for its session.
pub(super) struct PreparedRun {
    pub(super) run: RunSpec,
    pub(super) session: Option<String>,
    /// The user's message as stored in the session.
    pub(super) asked: Vec<Message>,
    /// Whether the session already ends with this message.
    pub(super) is_asked_again: bool,
    /// The provider.
    pub(super) provider: String,
    /// Sources of the documents in the question.
    pub(super) sources: Vec<Citation>,
    /// Warnings for the caller.
    pub(super) warnings: Vec<String>,
    /// Tools that need approval.
    pub(super) ask: Permissions,
    /// Budgets of the agent, and its name.
    pub(super) budget: Option<(String, BudgetLimits)>,
}
