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
    /// What scripts may do outside of themselves. Default nothing.
    pub grants: Grants,
    /// Where JavaScript runs. A process can be killed in the middle of anything; a thread
    /// cannot, so it is for scripts of people who could run any program here anyhow.
    pub javascript: Transport,
}

impl ScriptOptions {
    /// The defaults, with JavaScript where the caller says: whoever has a program that can
    /// be a worker knows it.
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
