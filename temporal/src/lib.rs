//! Durable runs of Quillet as workflows of Temporal.
//!
//! A run is a workflow ([`run::AgentRun`]) that keeps the run's events, or references to them, and
//! makes no decisions. Activities ([`activities::Agents`]) do the work. An activity prepares the
//! run, makes one model call, or makes one tool call. Each activity replays the recorded events in
//! the agent's loop, as `quillet_host` does when it resumes a run. The activity then performs its
//! one action and returns the next command.

pub mod activities;
pub mod args;
pub mod batch;
pub mod client;
pub mod failure;
pub mod run;
pub mod step_store;
pub mod worker;
pub mod workflow_state;
