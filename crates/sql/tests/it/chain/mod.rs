//! Tests the pipeline with a scripted model.

mod answers;
mod budget;
mod phase1;
mod schema;
