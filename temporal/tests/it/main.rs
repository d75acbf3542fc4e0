//! Tests of the worker with a real Temporal server, and with tools and a model that count their
//! calls. `scripts/temporal` installs the server and runs the tests.

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
