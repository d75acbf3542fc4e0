//! Version history logic shared by all stores.

pub(crate) mod chain;
mod labels;
pub(crate) mod log;

pub(crate) use chain::VersionChain;
pub(crate) use labels::{apply_moves, committed, imported, stored};
pub(crate) use log::MemoryLog;
