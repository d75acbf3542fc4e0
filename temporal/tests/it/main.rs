//! The worker beside a real Temporal server, with tools and a model that count what they are asked.
//! `scripts/temporal` gets the server and runs these.

#![allow(clippy::unwrap_used)]

mod approvals;
mod away;
mod figures;
mod killed;
mod large;
mod rows;
mod scripts;
mod server;
mod tools;
mod world;
