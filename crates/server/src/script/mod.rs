//! Scripts in this process: what they are given to run with.

mod host;

pub use host::{ScriptModels, ScriptTools};
