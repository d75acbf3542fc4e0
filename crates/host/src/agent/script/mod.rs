//! Durable runs of scripts.
//!
//! A script is an event stream like an agent's loop, so admission, event logs, approvals and
//! takeover are shared. Its models, tools, network and library are those of every script, behind
//! the run's journal. A resumed script runs again from its start:
//! [`quillet_script::run::call_sequence`] assigns recorded answers to calls, and
//! [`quillet_script::host::RunAccess::Kept`] lists the other inputs that are fixed.

mod library;
mod models;
mod request;
mod stream;
mod tools;

pub use request::ScriptRequest;
pub(super) use request::ScriptSetup;
pub(super) use stream::{JournaledRun, events};
