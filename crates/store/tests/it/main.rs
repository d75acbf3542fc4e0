//! Tests of the stores with real files and real Redis servers.
// A test fails by panicking.
#![allow(clippy::unwrap_used)]

mod archive;
mod archive_equal;
mod batches;
mod budgets;
mod contract;
mod demo;
mod folder;
mod history;
mod journal;
mod knowledge;
mod rates;
mod redis_cluster;
mod redis_recovery;
mod redis_single;
mod runs;
mod runs_recovery;
mod sessions;
mod sessions_equal;
mod sqlite;
mod support;
mod traces;
