//! Durable runs of Quillet as workflows of Temporal.
//!
//! A run is a workflow ([`run::AgentRun`]) that keeps the run's events, or references to them, and
//! makes no decisions. Activities ([`activities::Agents`]) do the work: preparing the run, one
//! model call, or one tool call. Each activity runs the agent's loop with the recorded events, as
//! `quillet_host` does when it resumes a run. It then performs its one action and returns the next
//! command.

pub mod activities;
pub mod args;
pub mod batch;
pub mod client;
pub mod failure;
pub mod run;
pub mod step_store;
pub mod worker;
pub mod workflow_state;
