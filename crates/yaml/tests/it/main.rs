//! Integration tests of the reader.

mod findings;
mod hostile;
mod properties;
mod tree;
