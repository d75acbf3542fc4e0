//! Durable runs. All events of a run go through its journal. The model ([`model`]) and the tools
//! ([`tool`]) are called only for results that the journal does not have, and a result is recorded
//! before it takes effect. Replaying the loop therefore leads to the point where it stopped, and
//! from there it continues with live calls.
//!
//! The loop is deterministic: its next step depends only on the recorded setup, and on answers,
//! decisions and results. Rendering of instructions and document search are not replayed; their
//! results are part of the setup.

mod advance;
mod approval;
mod decide;
mod external_journal;
mod fork;
mod list;
mod model;
mod request;
mod resume;
mod run_journal;
mod setup;
mod tool;

pub use decide::{CallDecision, DecideError};
pub use external_journal::{AdvanceMode, NextStep, RunProgress, RunTimeouts};
pub use fork::{Fork, ForkError};
pub use request::Admission;

pub(super) use approval::ApprovalGate;
pub(super) use model::ScriptModel;
pub(super) use request::{AGENT, SCRIPT, admitted, is_ours, keeps_secret};
pub(super) use run_journal::{RunJournal, ScriptApproval};
pub(super) use setup::Setup;
pub(super) use tool::{JournalledTool, value_of, written};

use std::sync::Arc;

use quillet_agent::{Permissions, RunSpec};

/// Routes the model, the tools and the approvals of a run through its journal.
pub(super) fn bind(run: &mut RunSpec, book: &Arc<RunJournal>, ask: &Permissions) {
    run.model = Arc::new(model::JournalledModel::new(run.model.clone(), book.clone()));
    for tool in &mut run.tools {
        *tool = tool::journalled(tool, book);
    }
    for skill in &mut run.skills.available {
        for tool in &mut skill.tools {
            *tool = tool::journalled(tool, book);
        }
    }
    if let Some(lent) = book.as_lent() {
        lent.bind(run);
    }
    run.approver = Some(Arc::new(approval::ApprovalGate::new(
        book.clone(),
        ask.clone(),
    )));
    run.is_journalled = true;
}
