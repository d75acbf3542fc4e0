//! Tests the provider over plain sockets, without code of the product.

#![allow(clippy::unwrap_used)]

mod client;
mod failures;
mod load;
// The load generator that the benchmarks use.
#[path = "../../examples/load/run.rs"]
mod run;
mod shapes;
mod talk;
