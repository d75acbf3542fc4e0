//! Integration tests of the crate's public interface.

// In tests, the panic of an `unwrap` shows where the test failed.
#![allow(clippy::unwrap_used)]

mod certificates;
mod chain;
mod demo;
mod demo_questions;
mod eval;
mod export;
mod export_arrow;
mod export_streams;
mod export_xlsx;
mod files;
mod guard;
mod layout;
mod mysql;
mod postgres;
mod rank;
mod scripted;
mod service;
mod sqlite;
mod streaming;
mod toy;
mod vectors;
