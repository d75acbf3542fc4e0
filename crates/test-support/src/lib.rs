//! Shared helpers for the tests and examples of several crates: real servers, a scripted provider,
//! a store that can become unavailable, and in-process tools. This crate is never part of the
//! product.
//!
//! ```no_run
//! let server = quillet_test_support::Postgres::start();
//! server.execute("CREATE TABLE users (id int PRIMARY KEY, name text)");
//! let reader = server.create_role("reader");
//! server.execute("GRANT SELECT ON users TO reader");
//! // … connect to server.url() as the owner, or to reader …
//! ```
//!
//! Each server is a separate process on a free port, with its own data folder in the system's
//! folder for temporary files. Dropping it stops the process and removes the folder. The same
//! happens when the process that started it ends for any reason, because the server waits on a pipe
//! that only that process holds open.
//!
//! Data folders are copies of a prepared folder for each server version. If a server is not
//! installed, the test panics with the name of its package and is not skipped.

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test that cannot go on panics"
)]

mod mariadb;
mod postgres;
mod redis;
pub mod scripted;
mod sshd;
mod store;
mod supervised;
mod template;
mod tools;
mod user;

pub use mariadb::MariaDb;
pub use postgres::Postgres;
pub use redis::{Cluster, RedisServer, SentinelSet, TempDir, free_port, wait_for};
pub use sshd::Sshd;
pub use store::TestStore;
pub use tools::EchoTools;

/// Returns how far apart the cases are that a test runs from a long table. The step is 1 if
/// `TRIALS_WHOLE` is set, as `scripts/trials` does.
#[must_use]
pub fn sample_step(step: usize) -> usize {
    if std::env::var_os("TRIALS_WHOLE").is_some() {
        1
    } else {
        step
    }
}
