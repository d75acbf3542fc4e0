//! Tests of the library as used by another program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod examples;
mod one_system;
