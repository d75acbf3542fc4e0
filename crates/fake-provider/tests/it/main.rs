//! Tests the provider over plain sockets, without code of the product.

#![allow(clippy::unwrap_used)]

mod client;
mod failures;
mod load;
// The benchmarks use this load generator.
#[path = "../../examples/load/run.rs"]
mod run;
mod shapes;
mod talk;
