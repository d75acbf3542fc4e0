//! The library as a program of somebody else uses it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod examples;
mod one_system;
