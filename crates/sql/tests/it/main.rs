//! Tests of the crate over its public interface.

// A test that unwraps says where it failed.
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
