//! The chain with a scripted model.

mod answers;
mod phase1;
