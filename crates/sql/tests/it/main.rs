//! Tests of the crate over its public interface.
