//! Runs that outlive their process. What a run does goes through its journal: the model
//! ([`model`]) and each tool ([`tool`]) are asked only for what the journal does not know, and it
//! knows an answer before anybody acts on it. So going through the loop once more leads to where it
//! stopped, and from there on the world is asked again.
//!
//! The loop is deterministic: what it does next depends on its setup, which the journal has, and on
//! answers, decisions and results. Nothing else of it is replayed: not the rendering of its
//! instructions, not the search in documents, whose outcome is part of the setup.

mod advance;
mod book;
mod decide;
mod fork;
mod gate;
mod lent;
mod list;
mod model;
mod request;
mod resume;
mod setup;
mod tool;

pub use decide::{DecideError, Deciding};
pub use fork::{Fork, ForkError};
pub use lent::{Advanced, Bounds, Next, Permit};
pub use request::Admission;

pub(super) use book::{Book, Kept};
pub(super) use gate::Gate;
pub(super) use model::ScriptModel;
pub(super) use request::{AGENT, SCRIPT, admitted, is_ours, keeps_secret};
pub(super) use setup::Setup;
pub(super) use tool::{JournalledTool, value_of, written};

use std::sync::Arc;

use quillet_agent::{Permissions, Run};

/// Sends what a run does through its journal.
pub(super) fn bind(run: &mut Run, book: &Arc<Book>, ask: &Permissions) {
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
    run.approver = Some(Arc::new(gate::Gate::new(book.clone(), ask.clone())));
    run.is_journalled = true;
}
