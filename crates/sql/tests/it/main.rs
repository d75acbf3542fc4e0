//! Tests of the crate over its public interface.

mod chain;
mod scripted;
