//! Tests of the agent's public API, with a scripted model and scripted tools.
// Tests report failures by panicking.
#![allow(clippy::unwrap_used)]

mod any_stream;
mod approval;
mod basics;
mod calls;
mod circles;
mod compact;
mod compact_rules;
mod definition;
mod permission;
mod rounds;
mod scripted;
mod skills;
mod stopping;
mod traces;
