//! Runs that outlive their process. What a run does goes through its journal: the model
//! ([`model`]) and each tool ([`tool`]) are asked only for what the journal does not know, and it
//! knows an answer before anybody acts on it. So going through the loop once more leads to where it
//! stopped, and from there on the world is asked again.
//!
//! The loop is deterministic: what it does next depends on its setup, which the journal has, and on
//! answers, decisions and results. Nothing else of it is replayed: not the rendering of its
//! instructions, not the search in documents, whose outcome is part of the setup.

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

pub use decide::{DecideError, Deciding};
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

/// Sends what a run does through its journal.
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
