//! Environment of scripts in this process, and the runner of stored scripts.
//!
//! The catalogue reads scripts with [`StoredScripts`], and [`ScriptService`] runs them. A run uses
//! one snapshot, so later changes of scripts, prompts and tools do not affect it.

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
