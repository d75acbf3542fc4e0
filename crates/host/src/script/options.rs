//! Settings of stored scripts. Every limit has its default here.

use std::time::Duration;

use quillet_script::host::{Grants, ScriptLimits};
use quillet_script::js::Transport;

/// Bounds, grants and transport of every run of a stored script.
#[derive(Clone, Debug)]
pub struct ScriptOptions {
    /// Bounds of each run.
    pub limits: ScriptLimits,
    /// Time of a whole run, models and tools included. Default 300 s.
    pub time: Duration,
    /// Grants of access outside the script. Default none.
    pub grants: Grants,
    /// Where JavaScript runs. A worker process can be killed at any moment; a thread cannot, so
    /// threads are only for trusted scripts.
    pub javascript: Transport,
}

impl ScriptOptions {
    /// Defaults with a JavaScript engine chosen by the caller, who knows which program can act as a
    /// worker.
    #[must_use]
    pub fn with_javascript(javascript: Transport) -> Self {
        ScriptOptions {
            limits: ScriptLimits::default(),
            time: Duration::from_secs(300),
            grants: Grants::default(),
            javascript,
        }
    }
}
