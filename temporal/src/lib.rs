//! Durable runs of Quillet as workflows of Temporal.
//!
//! A run is a workflow ([`run::AgentRun`]): it keeps the run's steps, or where they lie, and decides
//! nothing by itself. What asks anybody is an activity ([`activities::Agents`]): making ready, one
//! question to the model, one call of a tool. Each goes through the agent's loop with the steps that
//! are known, as `quillet_host` does it after a takeover, does the one thing that it is for, and says
//! what has to happen next.

pub mod activities;
pub mod args;
pub mod batch;
pub mod client;
pub mod failure;
pub mod run;
pub mod step_store;
pub mod worker;
pub mod workflow_state;
