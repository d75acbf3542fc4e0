//! What all stores have in common about histories.

mod chain;
mod labels;
mod log;

pub(crate) use chain::{Chain, expected, next, nothing};
pub(crate) use labels::{committed, imported, moved, stored};
pub(crate) use log::{MOST_LINES, MemoryLog};
