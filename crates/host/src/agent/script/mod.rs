//! Scripts in place of agents, so that they outlive their process.
//!
//! A script is an event stream as an agent's loop is, so admission, logs, parking and taking over
//! are the same. Its models and tools, the network and its library are those of every script, with
//! the run's journal before them. It is run again from its start: [`quillet_script::run::lane`]
//! says which answer is whose, and [`quillet_script::host::Reach::Kept`] what else is fixed.

mod library;
mod models;
mod request;
mod stream;
mod tools;

pub use request::ScriptRequest;
pub(super) use request::ScriptSetup;
pub(super) use stream::{JournaledRun, events};
