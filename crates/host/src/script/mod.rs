//! Scripts in this process: what they are given to run with, and the runner of those in the store.
//!
//! The catalogue reads them with [`StoredScripts`]; [`ScriptService`] runs them. One run
//! sees one snapshot: scripts, prompts and tools that it names are those of the moment in
//! which it was asked for.

mod host;
pub(crate) mod input;
mod library;
mod options;
mod reader;
mod servers;
mod service;
mod tools;
pub(crate) mod watch;

pub use host::{ScriptModels, ScriptTools};
pub use options::ScriptOptions;
pub use reader::StoredScripts;
pub use servers::ServerTools;
pub use service::ScriptService;
