//! Settings of stored scripts. Every limit has its default here.

use std::time::Duration;

use quillet_script::host::{Grants, ScriptLimits};
use quillet_script::js::Transport;

/// Limits, grants and JavaScript transport for every run of a stored script.
#[derive(Clone, Debug)]
pub struct ScriptOptions {
    /// Limits of each run.
    pub limits: ScriptLimits,
    /// Timeout of a run, including models and tools. Default 300 s.
    pub time: Duration,
    /// Grants of access outside the script. Default none.
    pub grants: Grants,
    /// Whether JavaScript runs in worker processes or in threads. A worker process can be killed at
    /// any time, but a thread cannot, so use threads for trusted scripts only.
    pub javascript: Transport,
}

impl ScriptOptions {
    /// Returns the defaults with this JavaScript transport. Only the caller knows which program can
    /// act as a worker.
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
