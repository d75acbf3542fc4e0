//! The reader from outside.

mod findings;
mod hostile;
mod properties;
mod tree;
