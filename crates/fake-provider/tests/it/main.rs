//! The provider against plain sockets: nothing of the product takes part.

#![allow(clippy::unwrap_used)]

mod client;
mod failures;
mod load;
// The load program, as the benches run it.
#[path = "../../examples/load/run.rs"]
mod run;
mod shapes;
mod talk;
